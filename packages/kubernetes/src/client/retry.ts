import { ApiError, isApiError } from "./api-error.ts";
import { sleep } from "./rate-limit.ts";

// Five tries take about 3 s: an API server that restarts is back by then, and a reconciler comes again anyway.
const MAX_TRIES = 5;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
// A server that wants a longer pause gets it from the caller's own backoff.
const LONGEST_ASKED_MS = 10_000;

/** What decides whether to try again. */
export interface RetryOptions {
  /** A request that changes nothing. */
  readonly read: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The server certainly did nothing: no connection, a refused stream, 429, or 503 with `Retry-After`. */
  readonly nothingDone: (error: ApiError) => boolean;
  readonly onRetry?: ((error: ApiError) => void) | undefined;
}

/**
 * Tries again what is safe to try again: anything that the server certainly did not do, and reads after every failure that
 * may pass. A write that may have happened is the caller's to look at.
 */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  let pause = FIRST_PAUSE_MS;
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isApiError(error) || tries >= MAX_TRIES) throw error;
      // Whoever waited for a time-out once does not want to wait for it five times.
      const safe = options.nothingDone(error) || (options.read && error.retryable && error.code !== "Timeout");
      const asked = error.retryAfterMs ?? 0;
      if (!safe || asked > LONGEST_ASKED_MS) throw error;
      options.onRetry?.(error);
      // Half of it at random: clients that failed together come back one by one.
      await pauseFor(Math.max(asked, pause * (0.5 + Math.random() / 2)), options.signal, error);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }
}

async function pauseFor(ms: number, signal: AbortSignal | undefined, error: ApiError): Promise<void> {
  try {
    await sleep(ms, signal);
  } catch (cause) {
    throw new ApiError("Aborted", `given up after: ${error.message}`, { cause });
  }
}
