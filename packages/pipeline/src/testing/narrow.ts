import type { FieldPathSegment } from "@xfn/composition";
import { isObject } from "@xfn/functionio";

/** How a matcher compares values. */
export type Matches = (actual: unknown, expected: unknown) => boolean;

/** What of a value an expectation speaks of, and where the two differ. */
export interface Narrowed {
  /** For a diff: only fields of the expectation; where the two match, the expectation itself, asymmetric matchers included. */
  value: unknown;
  /** The paths of what differs, as deep as the expectation goes. */
  differences: FieldPathSegment[][];
}

/** Narrows a value that does not match an expectation to what a person needs to see of it. */
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
  // A plain prototype: the printer of diffs would name another.
  const narrowed: { [key: string]: unknown } = {};
  for (const key of Object.keys(expected)) {
    const at = [...path, key];
    if (!Object.hasOwn(actual, key)) {
      found.differences.push(at);
      continue;
    }
    const value = search(actual[key], expected[key], at, found);
    // `__proto__` is an ordinary key here; plain assignment would set the prototype.
    Object.defineProperty(narrowed, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return narrowed;
}

/** Not an asymmetric matcher, which is an object too. */
function isPlain(value: unknown): value is { [key: string]: unknown } {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
