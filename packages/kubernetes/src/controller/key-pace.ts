import type { RateLimit } from "../client/rate-limit.ts";

/** How often each key may have its turn: so many times at once after a pause, then so many a second. */
export interface KeyPace {
  /** A key has its turn. */
  began(key: string): void;
  /** Until it may have the next one, in milliseconds; zero or less where it may at once. */
  waitOf(key: string): number;
  forget(key: string): void;
}

// Among so many turns, what is known of keys that have rested is forgotten once.
const TURNS_TO_TIDY = 1_000;

/** A token bucket for each key. */
export function keyPace({ perSecond, burst }: RateLimit, now: () => number = () => performance.now()): KeyPace {
  // When the bucket of each would be full: a turn moves it on by its share of a second.
  const full = new Map<string, number>();
  const share = 1000 / perSecond;
  let turns = 0;
  return {
    began(key) {
      const at = now();
      // No emptier than empty: who had turns beyond these, as it asked for them, waits for one share all the same.
      full.set(key, Math.min(Math.max(full.get(key) ?? at, at), at + (burst - 1) * share) + share);
      if (++turns % TURNS_TO_TIDY !== 0) return;
      for (const [other, when] of full) if (when <= at) full.delete(other);
    },
    waitOf: (key) => (full.get(key) ?? Number.NEGATIVE_INFINITY) - now() - (burst - 1) * share,
    forget: (key) => void full.delete(key),
  };
}
