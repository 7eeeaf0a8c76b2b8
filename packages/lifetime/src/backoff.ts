/** Exponential backoff: how pauses grow with consecutive failures. */
export interface Backoff {
  /** The pause before the first retry, in milliseconds. */
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * Returns the pause after a number of consecutive failures (from 1), which doubles each time. Jitter shortens it by up
 * to half, so that clients that failed together do not retry together.
 */
export function pauseAfter(
  failures: number,
  { firstMs, longestMs }: Backoff,
  random: () => number = Math.random,
): number {
  const full = Math.min(firstMs * 2 ** Math.min(failures - 1, 40), longestMs);
  return full * (1 - random() / 2);
}
