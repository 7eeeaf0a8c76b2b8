import type { MathTransform } from "../api/template.ts";
import { asDouble, Float64, float64, type GoValue, int64, isInt64 } from "../values/go-value.ts";
import { kindOf } from "../values/json.ts";
import type { CompiledTransform } from "./compiled.ts";
import type { Fail } from "./text/transform-error.ts";

/** Calculates in int64, which wraps around, or for a float64 in float64. */
export function compileMath(math: MathTransform, fail: Fail): CompiledTransform {
  const type = math.type === undefined || (math.type as string) === "" ? "Multiply" : math.type;
  switch (type) {
    case "Multiply":
      return withOperand(math.multiply, "multiply", fail, multiply);
    case "ClampMin":
      return withOperand(math.clampMin, "clampMin", fail, (input, least) => (truncated(input) < least ? least : input));
    case "ClampMax":
      return withOperand(math.clampMax, "clampMax", fail, (input, most) => (truncated(input) > most ? most : input));
    default:
      return () => fail("Config", `math.type must be Multiply, ClampMin or ClampMax`);
  }
}

type GoNumber = number | bigint | Float64;

function withOperand(
  operand: unknown,
  field: string,
  fail: Fail,
  apply: (input: GoNumber, operand: number | bigint) => GoNumber,
): CompiledTransform {
  if (operand === undefined || operand === null) return () => fail("Config", `math.${field} is missing`);
  if (!isInteger(operand)) return () => fail("Config", `math.${field} must be an integer of 64 bits`);
  const value = int64(BigInt(operand));
  return (input) =>
    isNumber(input) ? apply(input, value) : fail("Input", `the input must be a number, not ${kindOf(input)}`);
}

function isInteger(value: unknown): value is number | bigint {
  return typeof value === "bigint" ? isInt64(value) : Number.isSafeInteger(value);
}

function isNumber(value: GoValue): value is GoNumber {
  return typeof value === "number" || typeof value === "bigint" || value instanceof Float64;
}

function isInt(value: GoNumber): value is number | bigint {
  return typeof value === "bigint" ? isInt64(value) : Number.isSafeInteger(value);
}

function multiply(input: GoNumber, by: number | bigint): GoNumber {
  if (!isInt(input)) return float64(asDouble(input) * Number(by));
  if (typeof input === "number" && typeof by === "number") {
    const product = input * by;
    // -0 would be a float64.
    if (Number.isSafeInteger(product)) return product === 0 ? 0 : product;
  }
  return int64(BigInt.asIntN(64, BigInt(input) * BigInt(by)));
}

function truncated(value: GoNumber): number | bigint {
  return isInt(value) ? value : truncateToInt64(asDouble(value));
}

const MIN_INT64 = -(2n ** 63n);

/** Go's `int64(x)` of a float64 on amd64: a value out of range, or NaN, becomes the least int64. */
export function truncateToInt64(value: number): number | bigint {
  const whole = Math.trunc(value);
  if (Number.isSafeInteger(whole)) return whole === 0 ? 0 : whole;
  if (!Number.isFinite(value)) return MIN_INT64;
  const integer = BigInt(whole);
  return isInt64(integer) ? integer : MIN_INT64;
}
