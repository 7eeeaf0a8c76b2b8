/** How pauses grow from failure to failure. */
export interface Backoff {
  /** Before the first retry, in milliseconds. */
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * The pause after so many failures in a row (from 1): twice as long each time. Up to half of it is taken off at random, so
 * that what failed together does not come back together.
 */
export function pauseAfter(
  failures: number,
  { firstMs, longestMs }: Backoff,
  random: () => number = Math.random,
): number {
  const full = Math.min(firstMs * 2 ** Math.min(failures - 1, 40), longestMs);
  return full * (1 - random() / 2);
}
