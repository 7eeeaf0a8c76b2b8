import type { JsonValue } from "@xfn/functionio";
import { Float64 } from "../../values/go-value.ts";

/** Whether a value is a number of any kind. */
export function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Whether a number is an integer of 64 bits that is held exactly. */
export function isInteger(value: number | bigint): boolean {
  return typeof value === "bigint" ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
}

/** Whether two numbers have one value: an integer beyond 2^53 is not the double next to it. */
export function sameNumber(a: number | bigint, b: number | bigint): boolean {
  return !(a < b) && !(a > b) && !Number.isNaN(a) && !Number.isNaN(b);
}

/** The type of a value as schemas name it. */
export function typeName(value: JsonValue | Float64): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof Float64) return "integer";
  if (isNumber(value)) return isInteger(value) ? "integer" : "number";
  return typeof value;
}

// Binary fractions: 0.3 is a multiple of 0.1 to a person. The tolerance is that of Kubernetes.
const TOLERANCE = 1e-9;

/** Whether a number is a multiple of another; no number is one of zero or of a negative one. */
export function isMultipleOf(value: number | bigint, factor: number | bigint): boolean {
  if (factor <= 0) return false;
  if (isInteger(value) && isInteger(factor)) return BigInt(value) % BigInt(factor) === 0n;
  const quotient = Number(factor) < 1 ? (1 / Number(factor)) * Number(value) : Number(value) / Number(factor);
  const nearest = Math.round(quotient);
  if (!Number.isSafeInteger(nearest)) return false;
  return quotient === nearest || Math.abs(quotient - nearest) / (Math.abs(quotient) + Math.abs(nearest)) < TOLERANCE;
}
