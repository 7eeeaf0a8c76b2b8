import { type JsonValue, newObject, setField } from "@xfn/json";
import { asDouble, Float64, float64, type GoValue } from "../values/go-value.ts";
import { isObject, MAX_VALUE_DEPTH } from "../values/json.ts";
import type { Fail } from "./text/transform-error.ts";

/**
 * Converts a value of a Composition as Go's `json.Unmarshal` does: every number is a float64. Frozen, because all runs
 * share the value.
 */
export function asFloats(value: GoValue, fail: Fail, depth = 0): GoValue {
  if (depth > MAX_VALUE_DEPTH) return fail("Limit", `a value is nested deeper than ${MAX_VALUE_DEPTH} levels`);
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number" || typeof value === "bigint" || value instanceof Float64) {
    const double = asDouble(value);
    return Number.isFinite(double) ? float64(double) : fail("Input", "a number is too large for a float64");
  }
  if (Array.isArray(value)) {
    // Lists and objects contain Float64s for numbers, which the type JsonValue does not express.
    return Object.freeze(value.map((item) => asFloats(item, fail, depth + 1) as JsonValue)) as JsonValue;
  }
  if (!isObject(value)) return value;
  const object = newObject();
  for (const key of Object.keys(value))
    setField(object, key.toWellFormed(), asFloats(value[key] ?? null, fail, depth + 1) as JsonValue);
  return Object.freeze(object);
}
