import type { JsonObject, JsonValue } from "@xfn/functionio";
import { tryParseDuration } from "@xfn/units";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import { isDate, isDateTime, isDuration } from "../structural/formats.ts";
import type { SchemaNode } from "../structural/node.ts";
import { isInteger } from "../structural/numbers.ts";
import { durationOf } from "./environment.ts";

/**
 * Converts a JSON value for rules: integers to bigints, numbers to doubles, times and durations by their format,
 * objects to Maps (safe for any key), properties to their names in expressions. As in an API server, undeclared fields
 * are dropped.
 *
 * @param cache - earlier conversions: rules at several levels of a schema read the same values
 */
export function toCel(node: SchemaNode | undefined, value: JsonValue, cache: Map<object, unknown>, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return scalarToCel(node, value);
  const known = cache.get(value);
  if (known !== undefined) return known;
  let result: unknown;
  // Validation has rejected deeper values.
  if (depth > MAX_VALUE_DEPTH) result = null;
  else if (Array.isArray(value)) result = value.map((item) => toCel(node?.items, item, cache, depth + 1));
  else if (isObject(value)) result = objectToCel(node, value, cache, depth);
  cache.set(value, result);
  return result;
}

function scalarToCel(node: SchemaNode | undefined, value: JsonValue): unknown {
  if (typeof value === "number" || typeof value === "bigint") {
    if (node?.type === "number") return Number(value);
    return isInteger(value) ? BigInt(value) : Number(value);
  }
  if (typeof value !== "string") return value;
  switch ((node?.format ?? "").replaceAll("-", "")) {
    case "datetime":
      return isDateTime(value) ? new Date(value) : value;
    case "date":
      return isDate(value) ? new Date(`${value}T00:00:00Z`) : value;
    case "duration":
      return isDuration(value) ? goDuration(value) : value;
    case "byte":
      return Uint8Array.from(Buffer.from(value, "base64"));
    default:
      return value;
  }
}

function goDuration(text: string): unknown {
  const ms = tryParseDuration(text);
  // isDuration also accepts `3 days`, which CEL does not parse, so it stays a string.
  return ms === undefined ? text : durationOf(ms);
}

function objectToCel(
  node: SchemaNode | undefined,
  value: JsonObject,
  cache: Map<object, unknown>,
  depth: number,
): Map<string, unknown> {
  const result = new Map<string, unknown>();
  const open = node === undefined || (node.properties.size === 0 && node.additional === undefined);
  for (const key of Object.keys(value)) {
    const field = value[key] as JsonValue;
    const property = node?.properties.get(key);
    if (property !== undefined) {
      const converted = toCel(property, field, cache, depth + 1);
      result.set(celName(key) ?? key, converted);
      if (isReserved(key)) result.set(key, converted);
    } else if (typeof node?.additional === "object") result.set(key, toCel(node.additional, field, cache, depth + 1));
    else if (open || node?.additional === true) result.set(key, toCel(undefined, field, cache, depth + 1));
  }
  return result;
}

/** Converts a resource for a rule at its root. Of its metadata, rules read name and generateName only. */
export function resourceToCel(node: SchemaNode, value: JsonObject, cache: Map<object, unknown>): unknown {
  const result = objectToCel(node, value, cache, 0);
  for (const field of ["apiVersion", "kind"]) {
    if (Object.hasOwn(value, field)) result.set(field, value[field]);
  }
  const { metadata } = value;
  if (Object.hasOwn(value, "metadata") && isObject(metadata)) {
    const names = ["name", "generateName"].filter((field) => Object.hasOwn(metadata, field));
    result.set("metadata", new Map(names.map((field) => [field, metadata[field]])));
  }
  return result;
}

const RESERVED: ReadonlySet<string> = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
]);

/** Whether a property has the name of a reserved word. Newer API servers know it by that name, too: `self.package`. */
export function isReserved(property: string): boolean {
  return RESERVED.has(property);
}

/**
 * The name of a property in expressions, or undefined if it cannot have one.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
export function celName(property: string): string | undefined {
  if (RESERVED.has(property)) return `__${property}__`;
  // The name of nearly all properties.
  if (/^[A-Za-z][A-Za-z0-9]*$/.test(property)) return property;
  if (!/^[A-Za-z_][A-Za-z0-9_./-]*$/.test(property)) return undefined;
  return property
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__");
}
