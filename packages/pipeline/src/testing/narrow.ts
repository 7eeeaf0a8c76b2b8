import { isObject } from "@xfn/functionio";

/**
 * The part of a value that an expectation speaks of, for a diff that shows only what differs. Where the two match, the
 * expectation itself, so that asymmetric matchers do not show as differences.
 *
 * @param matches how values are compared
 */
export function narrow(
  actual: unknown,
  expected: unknown,
  matches: (actual: unknown, expected: unknown) => boolean,
): unknown {
  if (matches(actual, expected)) return expected;
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return actual.map((item: unknown, index) =>
      index < expected.length ? narrow(item, expected[index], matches) : item,
    );
  }
  if (!isPlain(actual) || !isPlain(expected)) return actual;
  // A plain prototype: the printer of diffs would name another.
  const narrowed: { [key: string]: unknown } = {};
  for (const key of Object.keys(expected)) {
    if (!Object.hasOwn(actual, key)) continue;
    const value = narrow(actual[key], expected[key], matches);
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
