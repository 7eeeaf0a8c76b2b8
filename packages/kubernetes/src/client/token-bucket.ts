/** A rate with room for bursts. */
export interface RateLimit {
  readonly perSecond: number;
  /** The number of tokens in a full bucket. */
  readonly burst: number;
}

/**
 * A token bucket. Its whole state is the time at which it is full again. Times are in milliseconds of any steady clock.
 */
export class TokenBucket {
  readonly #shareMs: number;
  readonly #burst: number;
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor({ perSecond, burst }: RateLimit) {
    this.#shareMs = 1000 / perSecond;
    this.#burst = burst;
  }

  /** Returns the milliseconds until a token is available: zero or less if one is available now. */
  waitMs(now: number): number {
    return this.#fullAt - now - (this.#burst - 1) * this.#shareMs;
  }

  isFull(now: number): boolean {
    return this.#fullAt <= now;
  }

  /** Takes a token. An empty bucket stays empty: it gets no debt. */
  take(now: number): void {
    this.#fullAt = Math.min(Math.max(this.#fullAt, now) + this.#shareMs, now + this.#burst * this.#shareMs);
  }

  /** Takes a token, if necessary one that is not available yet, and returns the milliseconds until it is. */
  reserve(now: number): number {
    const wait = this.waitMs(now);
    this.#fullAt = Math.max(this.#fullAt, now) + this.#shareMs;
    return wait;
  }
}
