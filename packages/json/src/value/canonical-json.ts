import { isObject, type JsonObject, type JsonValue } from "./json-value.ts";

/** JSON without spaces, with keys in the order of their code units: equal values have equal texts. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (isObject(value)) return `{${entries(value).join(",")}}`;
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

function entries(object: JsonObject): string[] {
  return Object.keys(object)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`);
}
