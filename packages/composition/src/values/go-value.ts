import type { JsonValue } from "@xfn/functionio";

/**
 * A float64 whose value is an integer that a JavaScript number holds exactly, such as the `2.0` that a `map` transform
 * returns for `2`. Go tells it from the int64 2 (`%d` prints `%!d(float64=2)`), JavaScript does not, hence this box.
 *
 * It lives between transforms only: what is written into a document is read again as JSON, where `2.0` becomes `2`.
 */
export class Float64 {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  /** The plain number. */
  toJSON(): number {
    return this.value;
  }
}

/**
 * A value as Go sees it while it is transformed. Numbers:
 *
 * - `number`, a safe integer: int64
 * - `bigint` within 64 bits: int64
 * - any other `number` (a fraction, beyond 2^53, NaN, infinite): float64
 * - {@link Float64}: float64 with the value of a safe integer
 * - `bigint` beyond 64 bits: float64, as Go reads such a literal; it is kept exact as long as nothing computes with it
 */
export type GoValue = JsonValue | Float64;

/** The Go type of a value: what a type switch at the reference would find. */
export type GoKind = "null" | "bool" | "string" | "int64" | "float64" | "array" | "object";

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** A float64 of this value: boxed where a plain number would be taken for an int64. */
export function float64(value: number): number | Float64 {
  return Number.isSafeInteger(value) ? new Float64(value) : value;
}

/** An int64 of this value, which the caller has brought within 64 bits: a number where that is exact, else a bigint. */
export function int64(value: bigint): number | bigint {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
}

/** Whether an integer is within the range of int64. */
export function isInt64(value: bigint): boolean {
  return value >= MIN_INT64 && value <= MAX_INT64;
}

/** The Go type of a value. */
export function goKind(value: GoValue): GoKind {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
      return Number.isSafeInteger(value) ? "int64" : "float64";
    case "bigint":
      return isInt64(value) ? "int64" : "float64";
    default:
      if (value === null) return "null";
      if (Array.isArray(value)) return "array";
      return value instanceof Float64 ? "float64" : "object";
  }
}

/** The value of an int64 as a bigint. Only for values whose {@link goKind} is `int64`. */
export function asInt64(value: number | bigint): bigint {
  return BigInt(value);
}

/** The value of a number of either kind as a double; an int64 beyond 2^53 is rounded, as Go's conversion does. */
export function asDouble(value: number | bigint | Float64): number {
  if (typeof value === "number") return value;
  return value instanceof Float64 ? value.value : Number(value);
}
