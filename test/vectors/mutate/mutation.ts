import { Float64 } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import type { Random } from "../../sweep/random.ts";
import type { VectorCase } from "../vector-file.ts";

/**
 * A change of a recorded case of which the reference's outcome is known: its code treats both inputs alike, or the
 * outcome changes with the input.
 */
export interface Mutation {
  name: string;
  /** The kinds of files with such cases. Absent: all. */
  files?: readonly string[];
  /** The new case. Undefined if this case has nothing to change. */
  apply(vector: VectorCase, next: Random): VectorCase | undefined;
}

/** Rebuilds a value from its leaves to its root. */
export function rebuilt(value: JsonValue, change: (value: JsonValue, key: string) => JsonValue, key = ""): JsonValue {
  if (Array.isArray(value)) {
    return change(
      value.map((item) => rebuilt(item, change)),
      key,
    );
  }
  if (!isPlain(value)) return change(value, key);
  const fields = Object.entries(value).map(([name, one]) => [name, rebuilt(one, change, name)] as const);
  return change(Object.fromEntries(fields), key);
}

/** Whether a value is an object, and not a number with its type. */
export function isPlain(value: unknown): value is JsonObject {
  return isObject(value) && !(value instanceof Float64);
}

/** One of the items. */
export function pick<T>(items: readonly T[], next: Random): T | undefined {
  return items[Math.floor(next() * items.length)];
}

/** The items with another one at a random place. */
export function inserted<T>(items: readonly T[], item: T, next: Random): T[] {
  const at = Math.floor(next() * (items.length + 1));
  return [...items.slice(0, at), item, ...items.slice(at)];
}

/** JSON that keeps the Go types of numbers: `parseLossless` reads it back. */
export function printLossless(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Float64) {
    const text = String(value.value);
    return /^-?\d+$/.test(text) ? `${text}.0` : text;
  }
  if (Array.isArray(value)) return `[${value.map(printLossless).join(",")}]`;
  if (!isPlain(value)) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${printLossless(field)}`).join(",")}}`;
}
