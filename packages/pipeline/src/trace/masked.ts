import { Float64 } from "@xfn/composition";
import { isObject, type JsonValue } from "@xfn/functionio";

/**
 * A JSON value in which secret parts are wrapped. Objects are maps here, so that `__proto__` is a key like any other.
 * What is wrapped can still be compared, to tell whether a step changed it.
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

/** A value with nothing hidden. Documents are at most `MAX_DEPTH` of functionio deep, so recursion is bounded. */
export function unmasked(value: JsonValue): Masked {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(unmasked);
  if (!isObject(value)) return null;
  const number = float64Of(value);
  if (number !== undefined) return number;
  return new Map(Object.entries(value).map(([key, field]) => [key, unmasked(field)]));
}

/** The number of the engine's boxed float64, which a caller in the same process may have put into a document. */
export function float64Of(value: unknown): number | undefined {
  return value instanceof Float64 ? value.value : undefined;
}

/** Whether two values are the same; a number and a bigint of the same value are. */
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
