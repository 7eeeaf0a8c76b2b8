import { sleep } from "./sleep.ts";

/** When work is repeated. */
export interface RetryPolicy {
  /**
   * The pause before the next attempt, in milliseconds; undefined if none can help. Failures count from 1.
   */
  readonly pauseMs: (error: unknown, failures: number) => number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The error if the signal is aborted during a pause. Default: the signal's reason. */
  readonly abortedPause?: (error: unknown, reason: unknown) => unknown;
}

/**
 * Repeats work that failed, as long as its policy allows.
 *
 * @throws the last error of the work, or the policy's if the signal is aborted during a pause
 */
export async function retrying<T>(work: () => Promise<T>, policy: RetryPolicy): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      const ms = policy.pauseMs(error, failures);
      if (ms === undefined) throw error;
      await sleep(ms, policy.signal).catch((reason: unknown) => {
        throw policy.abortedPause?.(error, reason) ?? reason;
      });
    }
  }
}
