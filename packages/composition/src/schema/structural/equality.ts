import type { JsonObject, JsonValue } from "@xfn/json";
import { compareUtf8 } from "../../values/go-json.ts";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import { isNumber, sameNumber } from "./numbers.ts";

/** Whether two JSON values are equal, numbers by value. Values deeper than any document are never equal. */
export function sameJson(a: JsonValue, b: JsonValue, depth = 0): boolean {
  if (isNumber(a) && isNumber(b)) return sameNumber(a, b);
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || depth > MAX_VALUE_DEPTH)
    return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, at) => sameJson(item, b[at] ?? null, depth + 1));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] ?? null, b[key] ?? null, depth + 1))
  );
}

/** The indexes of items that equal an earlier item, in linear time. */
export function duplicatesOf(items: readonly JsonValue[]): number[] {
  const seen = new Map<string, number>();
  const indices: number[] = [];
  for (const [index, item] of items.entries()) {
    const key = canonical(item);
    const times = seen.get(key) ?? 0;
    if (times === 1) indices.push(index);
    seen.set(key, times + 1);
  }
  return indices;
}

/** A string that only equal values share. */
export function canonical(value: JsonValue, depth = 0): string {
  if (depth > MAX_VALUE_DEPTH) return "?";
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  if (typeof value === "bigint") return value.toString();
  if (!isObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).toSorted(compareUtf8);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null, depth + 1)}`).join(",")}}`;
}

/** The key of an item of an x-kubernetes-list-type map. */
export function identityOf(item: JsonValue, keys: readonly string[]): JsonValue {
  const identity = Object.create(null) as JsonObject;
  if (!isObject(item)) return identity;
  for (const key of keys) if (Object.hasOwn(item, key)) identity[key] = item[key] as JsonValue;
  return identity;
}
