import type { JsonValue } from "@xfn/json";

/**
 * A float64 with the value of a safe integer, such as the `2.0` that a `map` transform returns for `2`. Go
 * distinguishes it from the int64 2 (`%d` prints `%!d(float64=2)`). A JavaScript number does not, hence this box.
 *
 * Only transforms use it. A document contains plain numbers, because JSON prints `2.0` as `2`.
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
 * A value during transforms, with Go's types. Numbers:
 *
 * - `number`, a safe integer: int64
 * - `bigint` within 64 bits: int64
 * - any other `number` (a fraction, beyond 2^53, NaN, infinite): float64
 * - {@link Float64}: float64 with the value of a safe integer
 * - `bigint` beyond 64 bits: float64, as in Go; exact until a transform computes with it
 */
export type GoValue = JsonValue | Float64;

/** The Go type of a value, as in a type switch. */
export type GoKind = "null" | "bool" | "string" | "int64" | "float64" | "array" | "object";

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** Converts a number to a float64. Boxes it if it would count as an int64. */
export function float64(value: number): number | Float64 {
  return Number.isSafeInteger(value) ? new Float64(value) : value;
}

/** Converts an integer within 64 bits to an int64: a number if that is exact, otherwise a bigint. */
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

/** Converts an int64 to a bigint. */
export function asInt64(value: number | bigint): bigint {
  return BigInt(value);
}

/** Converts a number of either kind to a double. Rounds an int64 beyond 2^53 like Go. */
export function asDouble(value: number | bigint | Float64): number {
  if (typeof value === "number") return value;
  return value instanceof Float64 ? value.value : Number(value);
}
