import type { JsonObject, JsonValue } from "@xfn/functionio";
import { Float64 } from "../values/go-value.ts";
import { emptyObject } from "../values/json.ts";

/**
 * A copy of a base that patches may change. The base is of bounded depth and size: it was checked when it was compiled.
 * Made once for each resource of each run, so it does nothing but copy.
 */
export function copyBase(base: JsonObject): JsonObject {
  const copy = emptyObject();
  for (const key of Object.keys(base)) copy[key] = copyValue(base[key] as JsonValue);
  return copy;
}

function copyValue(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || value instanceof Float64) return value;
  return Array.isArray(value) ? value.map(copyValue) : copyBase(value);
}
