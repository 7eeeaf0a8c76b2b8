import { firstDifference } from "./first-difference.ts";
import type { JsonValue } from "./json-value.ts";

/** Whether two JSON values are equal, regardless of the order of keys. Numbers compare by value. */
export function sameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return firstDifference(a, b) === undefined;
}
