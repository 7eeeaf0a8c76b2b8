import { Float64 } from "@xfn/composition";
import { isObject } from "@xfn/json";

/**
 * Whether two JSON values are equal. Compares numbers by value, not by Go type, because a document turns the float64
 * 4.0 into the integer 4. Integers beyond 2^53 must agree in every digit.
 */
export function same(a: unknown, b: unknown): boolean {
  if (isNumber(a) && isNumber(b)) return sameNumber(a, b);
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, at) => same(one, b[at]));
  if (!isPlain(a) || !isPlain(b)) return a === b;
  const keys = Object.keys(a).filter((key) => a[key] !== undefined);
  const others = Object.keys(b).filter((key) => b[key] !== undefined);
  return keys.length === others.length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function isNumber(value: unknown): value is number | bigint | Float64 {
  return typeof value === "number" || typeof value === "bigint" || value instanceof Float64;
}

function sameNumber(a: number | bigint | Float64, b: number | bigint | Float64): boolean {
  const left = a instanceof Float64 ? a.value : a;
  const right = b instanceof Float64 ? b.value : b;
  // Loose equality compares a bigint with a number by their exact values.
  return left == right || (Number.isNaN(left) && Number.isNaN(right)); // oxlint-disable-line eslint/eqeqeq
}

/** The first difference of two values: its field path, and both values. */
export function firstDifference(a: unknown, b: unknown, path = ""): { path: string; a: unknown; b: unknown } {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let at = 0; at < Math.max(a.length, b.length); at++) {
      if (!same(a[at], b[at])) return firstDifference(a[at], b[at], `${path}[${at}]`);
    }
  } else if (isPlain(a) && isPlain(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted()) {
      const [left, right] = [own(a, key), own(b, key)];
      if (!same(left, right)) return firstDifference(left, right, path === "" ? key : `${path}.${key}`);
    }
  }
  return { path, a, b };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !(value instanceof Float64);
}

function own(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** A value in one line of at most `limit` characters. */
export function show(value: unknown, limit = 400): string {
  if (value === undefined) return "(absent)";
  const text = JSON.stringify(value, (_key, one: unknown) => (typeof one === "bigint" ? Number(one) : one));
  return text.length > limit ? `${text.slice(0, limit)}... (${text.length} characters)` : text;
}
