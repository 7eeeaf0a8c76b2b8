import { type Backoff, pauseAfter, retrying } from "@xfn/lifetime";

/** A function that is being deployed, or a runner that restarts, is available again within seconds. */
const BACKOFF: Backoff = { firstMs: 100, longestMs: 5_000 };

/** Options of {@link retryingStep}. */
export interface RetryOptions {
  /** The most attempts after the first one. */
  readonly retries: number;
  /** Whether the work may be repeated after an error. */
  readonly isRepeatable: (error: unknown) => boolean;
  /** Called before each repetition. */
  readonly onRetry: () => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * Repeats work that failed, with pauses that double.
 *
 * @throws the last error of the work, also if the signal aborts during a pause
 */
export async function retryingStep<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { retries, isRepeatable, onRetry, signal } = options;
  let repeated = false;
  const attempt = async (): Promise<T> => {
    if (repeated) onRetry();
    repeated = true;
    return await work();
  };
  return await retrying(attempt, {
    signal,
    pauseMs: (error, failures) =>
      failures > retries || !isRepeatable(error) || signal?.aborted === true
        ? undefined
        : pauseAfter(failures, BACKOFF),
    abortedPause: (error) => error,
  });
}
