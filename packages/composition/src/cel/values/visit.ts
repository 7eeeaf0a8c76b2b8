/**
 * The parts of values, and the characters of printed ones, that the expressions on one value may visit. An API server
 * charges next to nothing for them, but parts can be shared: 40 times `.map(a, [a, a])` makes a list that takes little
 * memory, and has 2^40 items. An object of a cluster has at most some million parts.
 */
export const MAX_VISITS = 5_000_000;

/** An expression exceeded its cost or its visits. One shared object, because only its identity matters. */
export const EXCEEDED: Error = new Error("the expression exceeds its cost");

let left = MAX_VISITS;

/** Records visits. Every function that recurses into the parts of a value or type must call it. */
export function visit(count = 1): void {
  left -= count;
  if (left < 0) throw EXCEEDED;
}

/** The characters of a text that are read in the time of a visit. */
const CHARACTERS_PER_VISIT = 16;

/** Records that a function with a small cost reads a whole text. */
export function visitText(text: string): void {
  visit(text.length / CHARACTERS_PER_VISIT);
}

/** Sets the number of visits that are left. @returns the number that was left before */
export function allowVisits(count: number): number {
  const before = left;
  left = count;
  return before;
}
