import type { JsonObject, JsonValue } from "@xfn/json";

/** Deeper than any resource: the parsers stop at the same depth. It also ends a cycle. */
const MAX_DEPTH = 500;

/**
 * A JSON copy of a handler's value, so that later changes to the original have no effect. Undefined fields are omitted,
 * as in `JSON.stringify`. Values that it would change silently are errors that name the field.
 */
export function copyJson(value: unknown, path: string, depth = 0): JsonValue {
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) throw new TypeError(`${path} contains half of a surrogate pair`);
      return value;
    case "boolean":
      return value;
    case "bigint":
      return BigInt.asIntN(54, value) === value && Number.isSafeInteger(Number(value)) ? Number(value) : value;
    case "number":
      return checkNumber(value, path);
    case "object":
      if (value === null) return null;
      if (depth > MAX_DEPTH) throw new TypeError(`${path.slice(0, 100)}... is nested too deep, or contains itself`);
      return Array.isArray(value) ? copyArray(value, path, depth) : copyObject(value, path, depth);
    default:
      throw new TypeError(
        `${path} is ${value === undefined ? "undefined" : `a ${typeof value}`}, which JSON cannot carry`,
      );
  }
}

function checkNumber(value: number, path: string): number {
  if (!Number.isFinite(value)) throw new TypeError(`${path} is ${value}, which JSON cannot carry`);
  // A number between 2^53 and 2^64 was probably a 64-bit integer that has lost digits.
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 2 ** 64) {
    throw new TypeError(`${path} is an integer beyond 2^53, which a number cannot hold exactly; use a bigint`);
  }
  return value;
}

function copyArray(value: readonly unknown[], path: string, depth: number): JsonValue[] {
  const copy: JsonValue[] = [];
  for (let i = 0; i < value.length; i++) copy.push(copyJson(value[i], `${path}[${i}]`, depth + 1));
  return copy;
}

function copyObject(value: object, path: string, depth: number): JsonObject {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new TypeError(
      `${path} is a ${value.constructor.name}, which JSON cannot carry; make it a string or a plain object`,
    );
  }
  const copy = newObject();
  for (const [key, field] of Object.entries(value)) {
    if (field !== undefined) copy[key] = copyJson(field, `${path}.${key}`, depth + 1);
  }
  return copy;
}

/** Overlays `patch` on `base`: objects merge, other values replace. Neither is modified. */
export function overlayJson(base: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isPlain(base) || !isPlain(patch)) return patch;
  const merged = newObject();
  for (const key in base) merged[key] = base[key] as JsonValue;
  for (const key in patch) merged[key] = overlayJson(base[key], patch[key] as JsonValue);
  return merged;
}

/** Freezes a value recursively, because handlers must not modify their input. */
export function freezeJson<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) freezeJson(child);
  return value;
}

/** An object in which every key is data, including `__proto__`. */
export function newObject(): JsonObject {
  return Object.setPrototypeOf({}, null) as JsonObject;
}

function isPlain(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
