import type { JsonObject, JsonValue } from "@xfn/json";
import { parseDate, parseGoDuration, parseTimestamp } from "../../cel/values/time.ts";
import { named, type Type } from "../../cel/values/type.ts";
import {
  CelMap,
  CelObject,
  Duration,
  Failure,
  type Key,
  List,
  type ListKind,
  type Value,
} from "../../cel/values/value.ts";
import { Float64 } from "../../values/go-value.ts";
import { isObject, MAX_VALUE_DEPTH } from "../../values/json.ts";
import type { SchemaNode } from "../structural/node.ts";
import { isInteger } from "../structural/numbers.ts";
import { withResourceFields } from "./declare.ts";
import { celName, isReserved } from "./property-name.ts";

/** Earlier conversions: rules at several levels of a schema read the same values. */
export type Converted = Map<object, Value>;

/**
 * Converts a JSON value for rules like an API server: numbers, times and durations by their schema, properties to their
 * names in expressions. Fields without a schema are not visible, except in objects of unknown form.
 */
export function toCel(node: SchemaNode | undefined, value: JsonValue, converted: Converted, depth = 0): Value {
  if (typeof value !== "object" || value === null || isFloat(value)) return scalarToCel(node, value);
  const known = converted.get(value);
  if (known !== undefined) return known;
  const result = partsToCel(node, value, converted, depth);
  converted.set(value, result);
  return result;
}

function partsToCel(node: SchemaNode | undefined, value: JsonValue, converted: Converted, depth: number): Value {
  // Validation has rejected deeper values.
  if (depth > MAX_VALUE_DEPTH) return null;
  if (Array.isArray(value)) {
    const items = value.map((item) => toCel(node?.items, item, converted, depth + 1));
    return new List(
      items,
      listKind(node),
      node?.listKeys.map((key) => celName(key) ?? key),
      true,
    );
  }
  if (!isObject(value)) return null;
  if (node?.embedded === true) return resourceToCel(node, value, converted, depth);
  return objectToCel(node, node?.properties ?? new Map(), value, converted, depth);
}

function isFloat(value: unknown): value is Float64 {
  return value instanceof Float64;
}

function listKind(node: SchemaNode | undefined): ListKind {
  return node?.listType === "set" || node?.listType === "map" ? node.listType : "atomic";
}

function scalarToCel(node: SchemaNode | undefined, value: JsonValue | Float64): Value {
  if (isFloat(value)) return scalarToCel(node, value.value);
  if (typeof value === "number" || typeof value === "bigint") {
    if (node?.type === "number" && !node.intOrString) return Number(value);
    return isInteger(value) ? BigInt(value) : Number(value);
  }
  if (typeof value !== "string" || node?.type !== "string") return value as Value;
  const invalid = new Failure(`invalid ${node.format} in data`);
  switch (node.format) {
    case "date-time":
      return parseTimestamp(value) ?? invalid;
    case "date":
      return parseDate(value) ?? invalid;
    case "duration":
      return parseGoDuration(value) ?? wordDuration(value) ?? invalid;
    case "byte":
      return Uint8Array.from(Buffer.from(value, "base64"));
    default:
      return value;
  }
}

const SECOND = 1_000_000_000n;
const WORDS: readonly (readonly [RegExp, bigint])[] = [
  [/^(?:ns|nanos?|nanoseconds?)$/, 1n],
  [/^(?:us|µs|micros?|microseconds?)$/, 1000n],
  [/^(?:ms|millis?|milliseconds?)$/, 1_000_000n],
  [/^(?:s|secs?|seconds?)$/, SECOND],
  [/^(?:m|mins?|minutes?)$/, 60n * SECOND],
  [/^(?:h|hrs?|hours?)$/, 3600n * SECOND],
  [/^(?:d|days?)$/, 86_400n * SECOND],
  [/^(?:w|wks?|weeks?)$/, 604_800n * SECOND],
];

/** A duration with a unit in words: `3 days`. */
function wordDuration(text: string): Duration | undefined {
  const [, count, word = ""] = /^\s*(\d{1,18})\s*([a-zµ]+)\s*$/.exec(text) ?? [];
  const unit = WORDS.find(([pattern]) => pattern.test(word))?.[1];
  return count === undefined || unit === undefined ? undefined : new Duration(BigInt(count) * unit);
}

/** The type of objects with declared fields. No function takes them, so one type is enough. */
const OBJECT: Type = named("object");

function objectToCel(
  node: SchemaNode | undefined,
  properties: ReadonlyMap<string, SchemaNode>,
  value: JsonObject,
  converted: Converted,
  depth: number,
): Value {
  if (typeof node?.additional === "object" && properties.size === 0) {
    const { additional } = node;
    const entries = new Map<Key, Value>();
    for (const key of Object.keys(value)) {
      entries.set(key, toCel(additional, value[key] as JsonValue, converted, depth + 1));
    }
    return new CelMap(entries, true);
  }
  const isOpen = properties.size === 0;
  const fields = new Map<string, Value>();
  for (const key of Object.keys(value)) {
    const property = properties.get(key);
    if (property === undefined && !isOpen) continue;
    // A null of a nullable property is like an absent one.
    if (property !== undefined && value[key] === null) continue;
    const field = toCel(property, value[key] as JsonValue, converted, depth + 1);
    fields.set(isOpen ? key : (celName(key) ?? key), field);
    if (isReserved(key)) fields.set(key, field);
  }
  return new CelObject(fields, isOpen ? undefined : OBJECT);
}

/** Converts a resource for a rule at its root. Rules can read only name and generateName of its metadata. */
export function resourceToCel(node: SchemaNode, value: JsonObject, converted: Converted, depth = 0): Value {
  return objectToCel(undefined, withResourceFields(node), value, converted, depth);
}
