import { type RateLimit, TokenBucket } from "../client/token-bucket.ts";

// Full buckets are dropped once in so many turns.
const TURNS_PER_CLEANUP = 1_000;

/** Limits how often each key gets a turn: a token bucket for each key. */
export class KeyPace {
  readonly #rate: RateLimit;
  readonly #now: () => number;
  readonly #buckets = new Map<string, TokenBucket>();
  #turns = 0;

  constructor(rate: RateLimit, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts a turn of the key, even one that is not available yet. */
  began(key: string): void {
    const now = this.#now();
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket(this.#rate);
      this.#buckets.set(key, bucket);
    }
    bucket.take(now);
    if (++this.#turns % TURNS_PER_CLEANUP !== 0) return;
    for (const [other, idle] of this.#buckets) if (idle.isFull(now)) this.#buckets.delete(other);
  }

  /** Returns the milliseconds until the key's next turn: zero or less if it is available now. */
  waitMs(key: string): number {
    return this.#buckets.get(key)?.waitMs(this.#now()) ?? 0;
  }

  forget(key: string): void {
    this.#buckets.delete(key);
  }
}
