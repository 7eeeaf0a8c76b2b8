import { setTimeout as sleep } from "node:timers/promises";
import { ImageError } from "./errors.ts";
import { abortError, throwIfAborted } from "./single-flight.ts";

/** How often what can succeed later is tried again: answers 408, 429 and 5xx, broken connections, stalls. */
export interface RetryOptions {
  /** The first one included. Default 4; 1 means never again. */
  readonly attempts?: number | undefined;
  /** Before the second attempt; doubled for each further one, with jitter. Default 500 ms. */
  readonly baseDelayMs?: number | undefined;
}

const DEFAULT_ATTEMPTS = 4;
const DEFAULT_BASE_DELAY_MS = 500;
/** Longer pauses only make people think that it hangs. */
const MAX_DELAY_MS = 10_000;
/** A registry that asks for more patience than this (`Retry-After`) has failed: the caller knows better when to come back. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Decides for one operation whether, and when, it is tried again. */
export class Attempts {
  readonly #limit: number;
  readonly #baseDelayMs: number;
  #failures = 0;

  constructor(options: RetryOptions = {}) {
    this.#limit = Math.max(1, options.attempts ?? DEFAULT_ATTEMPTS);
    this.#baseDelayMs = options.baseDelayMs ?? DEFAULT_BASE_DELAY_MS;
  }

  /** Says that it got somewhere: what failed before counts no more. */
  progress(): void {
    this.#failures = 0;
  }

  /** Returns when it is time to try again. @throws what failed, if that cannot help; ImageError Aborted */
  async pauseAfter(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    throwIfAborted(signal);
    this.#failures += 1;
    if (!(error instanceof ImageError) || !error.retryable || this.#failures >= this.#limit) throw error;
    const asked = error.retryAfterMs ?? 0;
    if (asked > MAX_RETRY_AFTER_MS) throw error;
    const doubled = Math.min(this.#baseDelayMs * 2 ** (this.#failures - 1), MAX_DELAY_MS);
    // Not all who failed at once come back at once.
    const delay = Math.max(asked, doubled * (0.5 + Math.random() / 2));
    try {
      await sleep(delay, undefined, signal === undefined ? {} : { signal });
    } catch {
      throw abortError(signal);
    }
  }
}

/** Does the work until it succeeds, or fails for good. */
export async function retrying<T>(
  options: RetryOptions | undefined,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const attempts = new Attempts(options);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      await attempts.pauseAfter(error, signal);
    }
  }
}
