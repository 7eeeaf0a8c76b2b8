import { type JsonPath, type JsonValue, newObject } from "@xfn/json";
import { Float64 } from "../../values/go-value.ts";
import { isObject, kindOf } from "../../values/json.ts";

// An API server decodes requests into types. It drops unknown fields, treats null as absent, and omits empty fields in
// responses. A CRD must have the same form, or every comparison with a response finds a difference.

/** Receives the problems of a value while it is decoded. */
export interface TypeReport {
  /** The value at `path` is invalid. */
  wrong(path: JsonPath, message: string): void;
  /** An object has an unknown field, which is dropped. */
  unknown?(path: JsonPath, field: string, known: readonly string[]): void;
}

/** Decodes one value of a type. Returns undefined if the server omits it. */
export type ApiType = (value: JsonValue, path: JsonPath, report: TypeReport) => JsonValue | undefined;

/** The deepest nesting of a schema, equal to the bound of documents. It protects the stack. */
const MAX_SCHEMA_DEPTH = 500;

/** A field's type, and the value that the server writes for an absent field. */
export interface ApiField {
  readonly type: ApiType;
  readonly absent?: JsonValue;
}

function scalar(expected: string, fits: (value: JsonValue) => boolean, empty?: JsonValue): ApiType {
  return (value, path, report) => {
    if (value === null || value === empty) return undefined;
    if (fits(value)) return value;
    report.wrong(path, `expected ${expected}, found ${kindOf(value)}`);
    return undefined;
  };
}

/** A string, omitted if empty. */
export const text: ApiType = scalar("a string", (value) => typeof value === "string", "");
/** A string that may be empty. */
export const anyText: ApiType = scalar("a string", (value) => typeof value === "string");
/** A boolean, omitted if false. */
export const flag: ApiType = scalar("a boolean", (value) => typeof value === "boolean", false);
/** A boolean that may be false. */
export const anyFlag: ApiType = scalar("a boolean", (value) => typeof value === "boolean");
const anyNumber: ApiType = scalar(
  "a number",
  (value: unknown) => typeof value === "number" || typeof value === "bigint" || value instanceof Float64,
);
/** Any number. An API server stores a float64, so integers beyond 2^53 are rounded. */
export const number: ApiType = (value, path, report) => {
  const read: unknown = anyNumber(value, path, report);
  return typeof read === "bigint" ? Number(read) : (read as JsonValue | undefined);
};
/** An integer of 64 bits. */
export const integer: ApiType = scalar("an integer", isInt64);
/** An integer of 64 bits, omitted if 0. */
export const nonzeroInteger: ApiType = scalar("an integer", isInt64, 0);
/** Any value but null. */
export const raw: ApiType = (value) => value ?? undefined;

function isInt64(value: JsonValue): boolean {
  if (typeof value === "bigint") return BigInt.asIntN(64, value) === value;
  return Number.isSafeInteger(value);
}

/** A list, omitted if empty. The value of a null item depends on its type. */
export function list(item: ApiType, nullItem: () => JsonValue): ApiType {
  const inner = anyList(item, nullItem);
  return (value, path, report) => {
    const items = inner(value, path, report);
    return Array.isArray(items) && items.length === 0 ? undefined : items;
  };
}

/** A list that may be empty. */
export function anyList(item: ApiType, nullItem: () => JsonValue): ApiType {
  return (value, path, report) => {
    if (value === null) return undefined;
    if (!Array.isArray(value)) return misfit("a list", value, path, report);
    return value.map((one, index) => item(one, [...path, index], report) ?? nullItem());
  };
}

/** An object with any keys and values of one type, omitted if empty. */
export function map(item: ApiType, nullItem: () => JsonValue): ApiType {
  return (value, path, report) => {
    if (value === null) return undefined;
    if (!isObject(value)) return misfit("an object", value, path, report);
    const result = newObject();
    for (const key of Object.keys(value)) {
      result[key] = item(value[key] as JsonValue, [...path, key], report) ?? nullItem();
    }
    return Object.keys(result).length === 0 ? undefined : result;
  };
}

/** An object with known fields. `fields` is a function because a type may contain itself. */
export function struct(fields: () => ReadonlyMap<string, ApiField>): ApiType {
  return (value, path, report) => {
    if (value === null) return undefined;
    if (!isObject(value)) return misfit("an object", value, path, report);
    if (path.length > MAX_SCHEMA_DEPTH) {
      report.wrong(path, `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
      return undefined;
    }
    const known = fields();
    const result = newObject();
    for (const [field, { type, absent }] of known) {
      // Most fields are absent. For those no path is made, which deep schemas would pay for.
      const given = Object.hasOwn(value, field) ? (value[field] as JsonValue) : null;
      const read = (given === null ? undefined : type(given, [...path, field], report)) ?? absent;
      if (read !== undefined) result[field] = read;
    }
    if (report.unknown !== undefined) {
      for (const field of Object.keys(value)) {
        if (!known.has(field)) report.unknown([...path, field], field, [...known.keys()]);
      }
    }
    return result;
  };
}

function misfit(expected: string, value: JsonValue, path: JsonPath, report: TypeReport): undefined {
  report.wrong(path, `expected ${expected}, found ${kindOf(value)}`);
  return undefined;
}
