/** Options for `vi.waitFor` that allow for a busy machine. */
export const PATIENCE = { timeout: 60_000, interval: 20 };

/** The deadline of calls that must end before it, in milliseconds. */
export const NO_HURRY_MS = 120_000;

/**
 * Repeats an attempt with four times the time, up to a minute, while its time ended before what it was for had
 * happened. For deadlines under test, which a busy machine meets too early.
 *
 * @param firstMs - the time of the first attempt, which suffices on a quiet machine
 * @param attempt - returns an outcome to check, or undefined if the time was too short
 */
export async function withMoreTime<T>(firstMs: number, attempt: (ms: number) => Promise<T | undefined>): Promise<T> {
  for (let ms = firstMs; ; ms *= 4) {
    const outcome = await attempt(ms);
    if (outcome !== undefined) return outcome;
    if (ms > 60_000) throw new Error(`${ms} ms were too short`);
  }
}
