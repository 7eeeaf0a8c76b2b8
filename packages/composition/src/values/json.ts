import { type JsonObject, type JsonValue, kindOf as kindOfJson, MAX_DEPTH } from "@xfn/functionio";
import { Float64, type GoValue } from "./go-value.ts";

/**
 * How deep a value may be nested that the engine copies, merges or prints: what parsers accept. It keeps recursion far
 * from the end of the stack, also where a program passes objects that no parser has bounded.
 */
export const MAX_VALUE_DEPTH: number = MAX_DEPTH;

/** Whether a value is a JSON object: not null, not an array, and not a boxed number. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Float64);
}

/** A new object without a prototype, so that every key is data. */
export function emptyObject(): JsonObject {
  const object: JsonObject = Object.create(null) as JsonObject;
  return object;
}

/** Sets an object's own field, whatever its name: assigning `__proto__` to a plain object would change its prototype. */
export function setField(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else object[key] = value;
}

/** What a value is, in words for messages; never the value itself. */
export function kindOf(value: GoValue | undefined): string {
  return value instanceof Float64 ? "a number" : kindOfJson(value);
}
