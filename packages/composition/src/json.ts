import type { JsonValue } from "@xfn/functionio";

/** What a value is, in words for messages; never the value itself. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "bigint" ? "a number" : `a ${typeof value}`;
}
