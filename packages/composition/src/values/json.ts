import { type JsonObject, kindOf as kindOfJson, MAX_DEPTH } from "@xfn/json";
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

/** Names the type of a value for messages, without the value. */
export function kindOf(value: GoValue | undefined): string {
  return value instanceof Float64 ? "a number" : kindOfJson(value);
}
