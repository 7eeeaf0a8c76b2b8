/**
 * Any JSON value. `bigint` is used only for integers that a double cannot represent exactly (beyond 2^53), so that
 * 64-bit integers survive a round trip. Every other number is a `number`.
 */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | JsonObject;

/** A JSON object. Objects of our parsers have a null prototype, so that `__proto__` is an ordinary key. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** A path into a JSON value: object keys and array indices. */
export type JsonPath = readonly (string | number)[];

/** Whether a value is a JSON object: not null, not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The type of a value for messages; never the value itself. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "bigint") return "a number";
  if (typeof value === "object") return "an object";
  if (value === undefined) return "nothing";
  return `a ${typeof value}`;
}

/**
 * A path in the form of Crossplane's field paths: `desired.resources[0].resource`, `metadata.labels[example.org/team]`.
 * The empty path prints as "".
 */
export function formatPath(path: JsonPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number" || !/^[A-Za-z_$-][\w$-]*$/.test(part)) text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}
