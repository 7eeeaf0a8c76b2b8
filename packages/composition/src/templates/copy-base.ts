import { type JsonObject, type JsonValue, newObject } from "@xfn/json";
import { Float64 } from "../values/go-value.ts";

/**
 * Copies a base for patches to change. Compiling has bounded its depth and size already. Each resource of each run
 * needs a copy, so the function does nothing else.
 */
export function copyBase(base: JsonObject): JsonObject {
  const copy = newObject();
  for (const key of Object.keys(base)) copy[key] = copyValue(base[key] as JsonValue);
  return copy;
}

function copyValue(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || value instanceof Float64) return value;
  return Array.isArray(value) ? value.map(copyValue) : copyBase(value);
}
