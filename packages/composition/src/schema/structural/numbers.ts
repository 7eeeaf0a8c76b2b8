import type { JsonValue } from "@xfn/json";
import { Float64 } from "../../values/go-value.ts";

/** Whether a value is a number of any kind. */
export function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Whether a number is an exact integer of 64 bits. */
export function isInteger(value: number | bigint): boolean {
  return typeof value === "bigint" ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
}

/** Whether two numbers are equal. An integer beyond 2^53 differs from the nearest double. */
export function sameNumber(a: number | bigint, b: number | bigint): boolean {
  return !(a < b) && !(a > b) && !Number.isNaN(a) && !Number.isNaN(b);
}

/** The schema type of a value. */
export function typeName(value: JsonValue | Float64): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof Float64) return "integer";
  if (isNumber(value)) return isInteger(value) ? "integer" : "number";
  return typeof value;
}

// 0.3 must count as a multiple of 0.1. The tolerance is that of Kubernetes.
const TOLERANCE = 1e-9;

/** Whether a number is a multiple of another. No number is a multiple of zero or of a negative number. */
export function isMultipleOf(value: number | bigint, factor: number | bigint): boolean {
  if (factor <= 0) return false;
  if (isInteger(value) && isInteger(factor)) return BigInt(value) % BigInt(factor) === 0n;
  const quotient = Number(factor) < 1 ? (1 / Number(factor)) * Number(value) : Number(value) / Number(factor);
  const nearest = Math.round(quotient);
  if (!Number.isSafeInteger(nearest)) return false;
  return quotient === nearest || Math.abs(quotient - nearest) / (Math.abs(quotient) + Math.abs(nearest)) < TOLERANCE;
}
