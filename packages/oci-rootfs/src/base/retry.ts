import { pauseAfter, retrying, sleep } from "@xfn/lifetime";
import { ImageError } from "./errors.ts";
import { abortError, throwIfAborted } from "./single-flight.ts";

/** Retries after responses 408, 429 and 5xx, broken connections, and stalls. */
export interface RetryOptions {
  /** Including the first one. Default 4; 1 disables retries. */
  readonly attempts?: number | undefined;
  /** Delay before the second attempt; doubles for each further one, with jitter. Default 500 ms. */
  readonly baseDelayMs?: number | undefined;
}

const DEFAULT_ATTEMPTS = 4;
const DEFAULT_BASE_DELAY_MS = 500;
/** With longer delays, users think that the program hangs. */
const MAX_DELAY_MS = 10_000;
/** A longer `Retry-After` fails the operation, so that the caller decides when to retry. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Decides whether and when one operation is retried. */
export class Attempts {
  readonly #limit: number;
  readonly #baseDelayMs: number;
  #failures = 0;

  constructor(options: RetryOptions = {}) {
    this.#limit = Math.max(1, options.attempts ?? DEFAULT_ATTEMPTS);
    this.#baseDelayMs = options.baseDelayMs ?? DEFAULT_BASE_DELAY_MS;
  }

  /** Reports progress, which resets the number of failures. */
  progress(): void {
    this.#failures = 0;
  }

  /**
   * Returns when it is time for the next attempt.
   *
   * @throws the error itself if a retry cannot help; ImageError Aborted
   */
  async pauseAfter(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    const ms = this.pauseMs(error, signal);
    if (ms === undefined) throw error;
    try {
      await sleep(ms, signal);
    } catch {
      throw abortError(signal);
    }
  }

  /** The pause before the next attempt; undefined if a retry cannot help. @throws ImageError Aborted */
  pauseMs(error: unknown, signal: AbortSignal | undefined): number | undefined {
    throwIfAborted(signal);
    this.#failures += 1;
    if (!(error instanceof ImageError) || !error.retryable || this.#failures >= this.#limit) return undefined;
    const asked = error.retryAfterMs ?? 0;
    if (asked > MAX_RETRY_AFTER_MS) return undefined;
    return Math.max(asked, pauseAfter(this.#failures, { firstMs: this.#baseDelayMs, longestMs: MAX_DELAY_MS }));
  }
}

/** Repeats the work until it succeeds or fails permanently. */
export async function retryingTransfer<T>(
  options: RetryOptions | undefined,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const attempts = new Attempts(options);
  return await retrying(work, {
    signal,
    pauseMs: (error) => attempts.pauseMs(error, signal),
    abortedPause: () => abortError(signal),
  });
}
