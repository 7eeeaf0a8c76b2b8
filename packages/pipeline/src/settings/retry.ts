import { setTimeout as sleep } from "node:timers/promises";

/** A function that is being deployed, or a runner that restarts, is back within seconds. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/** How work is repeated. */
export interface RetryOptions {
  /** How often, after the first attempt. */
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
 * @throws the last error of the work. Also if the signal is aborted during a pause
 */
export async function retrying<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { retries, isRepeatable, onRetry, signal } = options;
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= retries || !isRepeatable(error) || signal?.aborted === true) throw error;
      if (!(await pause(attempt, signal))) throw error;
      onRetry();
    }
  }
}

/** Waits, with jitter, so that the XRs of a runner do not return at the same time. False if the signal is aborted. */
async function pause(attempt: number, signal: AbortSignal | undefined): Promise<boolean> {
  const ms = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  try {
    await sleep(ms * (0.5 + Math.random() / 2), undefined, { signal });
    return true;
  } catch {
    return false;
  }
}
