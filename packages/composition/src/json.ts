import type { JsonObject, JsonValue } from "@xfn/functionio";

/** Whether a value is a JSON object: not null, not an array. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a value is, in words for messages; never the value itself. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "bigint" ? "a number" : `a ${typeof value}`;
}
