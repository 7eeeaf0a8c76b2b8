import { Float64 } from "@xfn/composition";
import { isObject, type JsonPath, type JsonValue } from "@xfn/json";

/**
 * A JSON value in which secret parts are wrapped. Objects are maps here, so that `__proto__` is an ordinary key.
 * Wrapped parts can still be compared, which shows whether a step changed them.
 */
export type Masked = null | boolean | number | bigint | string | Hidden | Masked[] | Map<string, Masked>;

/** A value that is never shown. */
export class Hidden {
  readonly #value: Masked;

  constructor(value: Masked) {
    this.#value = value;
  }

  /** Whether both hide the same value. */
  equals(other: Hidden): boolean {
    return sameMasked(this.#value, other.#value);
  }
}

/** Wraps a value without secrets. Documents are at most `MAX_DEPTH` of functionio deep, so the recursion is bounded. */
export function unmasked(value: JsonValue): Masked {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(unmasked);
  if (!isObject(value)) return null;
  const number = float64Of(value);
  if (number !== undefined) return number;
  return new Map(Object.entries(value).map(([key, field]) => [key, unmasked(field)]));
}

/** The part of a value at a path, or the hidden value that contains it. Undefined if there is none. */
export function maskedAt(root: Masked, path: JsonPath): Masked | undefined {
  let value: Masked | undefined = root;
  for (const part of path) {
    if (value instanceof Hidden) return value;
    if (Array.isArray(value)) value = typeof part === "number" ? value[part] : undefined;
    else value = value instanceof Map ? value.get(String(part)) : undefined;
  }
  return value;
}

/** The number in a boxed float64 of the engine, which a caller in the same process can put into a document. */
export function float64Of(value: unknown): number | undefined {
  return value instanceof Float64 ? value.value : undefined;
}

/** Whether two values are equal. A number equals a bigint of the same value. */
export function sameMasked(left: Masked | undefined, right: Masked | undefined): boolean {
  if (left === right) return true;
  if (left instanceof Hidden) return right instanceof Hidden && left.equals(right);
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => sameMasked(item, right[index]))
    );
  }
  if (left instanceof Map) {
    if (!(right instanceof Map) || left.size !== right.size) return false;
    for (const [key, value] of left) if (!right.has(key) || !sameMasked(value, right.get(key))) return false;
    return true;
  }
  // oxlint-disable-next-line eslint/eqeqeq -- a bigint and a number of the same value are equal
  return isNumeric(left) && isNumeric(right) && left == right;
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
