/** A cost or a size between two bounds. Sums and products end at {@link UNLIMITED}. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** The largest cost. Costs near it are far beyond every limit, so doubles suffice. */
export const UNLIMITED: number = 2 ** 64;

export const UNKNOWN: Range = { min: 0, max: UNLIMITED };
export const NOTHING: Range = { min: 0, max: 0 };

/** The cost of reading a character of a text. */
export const TEXT_FACTOR = 0.1;
/** The cost of a character of a regular expression: an operation has some four of them. */
export const PATTERN_FACTOR = 0.25;

export function fixed(value: number): Range {
  return { min: value, max: value };
}

export function sum(...ranges: readonly Range[]): Range {
  let [min, max] = [0, 0];
  for (const range of ranges) {
    min = Math.min(UNLIMITED, min + range.min);
    max = Math.min(UNLIMITED, max + range.max);
  }
  return { min, max };
}

export function product(a: Range, b: Range): Range {
  return { min: Math.min(UNLIMITED, a.min * b.min), max: Math.min(UNLIMITED, a.max * b.max) };
}

/** Multiplies by a factor and rounds up. */
export function times({ min, max }: Range, factor: number): Range {
  return { min: Math.min(UNLIMITED, Math.ceil(min * factor)), max: Math.min(UNLIMITED, Math.ceil(max * factor)) };
}

/** The range that contains both. */
export function union(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}
