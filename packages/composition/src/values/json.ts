import { type JsonObject, type JsonValue, kindOf as kindOfJson, MAX_DEPTH } from "@xfn/functionio";
import { Float64, type GoValue } from "./go-value.ts";

/**
 * The deepest nesting of a value that the engine copies, merges or prints, equal to the bound of the parsers. It
 * protects the stack from values of programs, which no parser has bounded.
 */
export const MAX_VALUE_DEPTH: number = MAX_DEPTH;

/** Whether a value is a JSON object: not null, not an array, and not a boxed number. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Float64);
}

/** Creates an object without a prototype, so that every key is data. */
export function emptyObject(): JsonObject {
  const object: JsonObject = Object.create(null) as JsonObject;
  return object;
}

/** Sets an object's own field of any name. Assigning `__proto__` to a plain object would change its prototype. */
export function setField(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else object[key] = value;
}

/** Names the type of a value for messages, without the value. */
export function kindOf(value: GoValue | undefined): string {
  return value instanceof Float64 ? "a number" : kindOfJson(value);
}
