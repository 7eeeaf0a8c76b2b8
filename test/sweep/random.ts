/** Returns the next number of a sequence from 0 up to 1. */
export type Random = () => number;

/** Mulberry32: small, and good enough for choosing faults. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The same items in a random order. */
export function shuffled<T>(items: readonly T[], next: Random): T[] {
  return items
    .map((item) => ({ item, position: next() }))
    .toSorted((a, b) => a.position - b.position)
    .map(({ item }) => item);
}
