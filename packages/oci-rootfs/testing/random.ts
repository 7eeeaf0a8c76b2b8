/** A seeded generator of random numbers (mulberry32). */
export interface Random {
  /** An integer from 0 to `below` - 1. */
  below(below: number): number;
  /** True with the probability 1/`n`. */
  oneIn(n: number): boolean;
  pick<T>(from: readonly T[]): T;
}

export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return { below, oneIn: (n) => below(n) === 0, pick: (from) => from[below(from.length)] as (typeof from)[number] };
}
