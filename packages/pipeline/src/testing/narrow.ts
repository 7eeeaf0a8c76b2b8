import type { FieldPathSegment } from "@xfn/composition";
import { isObject } from "@xfn/json";

/** How a matcher compares values. */
export type Matches = (actual: unknown, expected: unknown) => boolean;

/** The part of a value that an expectation covers, and the differences. */
export interface Narrowed {
  /**
   * The value for a diff: only fields of the expectation. Matching fields are those of the expectation, including
   * asymmetric matchers.
   */
  value: unknown;
  /** The paths of the differences, as deep as the expectation. */
  differences: FieldPathSegment[][];
}

/** Reduces a value to the part that a person must see to understand a failed expectation. */
export function narrow(actual: unknown, expected: unknown, matches: Matches): Narrowed {
  const differences: FieldPathSegment[][] = [];
  const value = search(actual, expected, [], { matches, differences });
  return { value, differences };
}

interface Search {
  matches: Matches;
  differences: FieldPathSegment[][];
}

function search(actual: unknown, expected: unknown, path: readonly FieldPathSegment[], found: Search): unknown {
  if (found.matches(actual, expected)) return expected;
  if (Array.isArray(actual) && Array.isArray(expected) && actual.length === expected.length) {
    return actual.map((item: unknown, index) => search(item, expected[index], [...path, index], found));
  }
  if (!isPlain(actual) || !isPlain(expected)) {
    found.differences.push([...path]);
    return actual;
  }
  // An ordinary prototype, because the diff would print the name of another.
  const narrowed: { [key: string]: unknown } = {};
  for (const key of Object.keys(expected)) {
    const at = [...path, key];
    if (!Object.hasOwn(actual, key)) {
      found.differences.push(at);
      continue;
    }
    const value = search(actual[key], expected[key], at, found);
    // `__proto__` is an ordinary key here; an assignment would set the prototype.
    Object.defineProperty(narrowed, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return narrowed;
}

/** Excludes asymmetric matchers, which are objects too. */
function isPlain(value: unknown): value is { [key: string]: unknown } {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
