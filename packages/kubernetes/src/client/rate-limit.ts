/** Requests that a client may make. */
export interface RateLimit {
  readonly perSecond: number;
  /** So many at once, after a pause. */
  readonly burst: number;
}

/** Resolves when the next request may go. */
export type Limiter = (signal?: AbortSignal) => Promise<void> | undefined;

/**
 * A token bucket. Requests go in the order in which they came; the wait of each is known when it comes, so nothing is
 * queued here. Undefined where there is no wait: a promise for each request would cost more than the rest of this.
 */
export function limiter({ perSecond, burst }: RateLimit, now: () => number = () => performance.now()): Limiter {
  // When the bucket would be full: a request moves it on by its share of a second.
  let full = Number.NEGATIVE_INFINITY;
  const share = 1000 / perSecond;
  return (signal) => {
    const at = now();
    full = Math.max(full, at) + share;
    const wait = full - at - burst * share;
    return wait <= 0 ? undefined : sleep(wait, signal);
  };
}

/** Waits. @throws the signal's reason */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
