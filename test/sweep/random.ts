/** Numbers that are the same for the same seed, from 0 up to 1. */
export type Random = () => number;

/** Mulberry32: small, and good enough to choose faults by. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The same things in another order. */
export function shuffled<T>(things: readonly T[], next: Random): T[] {
  return things
    .map((thing) => ({ thing, place: next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ thing }) => thing);
}
