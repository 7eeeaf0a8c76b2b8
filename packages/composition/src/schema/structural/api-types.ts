import type { JsonPath, JsonValue } from "@xfn/functionio";
import { Float64 } from "../../values/go-value.ts";
import { emptyObject, isObject, kindOf } from "../../values/json.ts";

// An API server decodes what it is sent into types: it drops fields that it does not know, takes null for absent, and
// leaves out on the way back what is empty. A CRD has to be in that form, or every comparison with what the server
// returns finds a difference.

/** Who is told of what does not fit while a value is read. */
export interface TypeReport {
  /** The value at `path` cannot be what it is. */
  wrong(path: JsonPath, message: string): void;
  /** An object has a field that its type lacks; it is dropped. */
  unknown?(path: JsonPath, field: string, known: readonly string[]): void;
}

/** Reads one value of a type; undefined if it is left out. */
export type ApiType = (value: JsonValue, path: JsonPath, report: TypeReport) => JsonValue | undefined;

/** Schemas nested deeper than this are refused; the same bound as for documents, which keeps recursion off the stack's end. */
export const MAX_SCHEMA_DEPTH = 500;

/** The field's type, with what stands for an absent field that is written nevertheless. */
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

/** A string; left out when empty. */
export const text: ApiType = scalar("a string", (value) => typeof value === "string", "");
/** A string that may be empty. */
export const anyText: ApiType = scalar("a string", (value) => typeof value === "string");
/** A boolean; left out when false. */
export const flag: ApiType = scalar("a boolean", (value) => typeof value === "boolean", false);
/** A boolean, whatever it is. */
export const anyFlag: ApiType = scalar("a boolean", (value) => typeof value === "boolean");
const anyNumber: ApiType = scalar(
  "a number",
  (value: unknown) => typeof value === "number" || typeof value === "bigint" || value instanceof Float64,
);
/** Any number; an API server keeps it as a float64, so that integers beyond 2^53 are rounded. */
export const number: ApiType = (value, path, report) => {
  const read: unknown = anyNumber(value, path, report);
  return typeof read === "bigint" ? Number(read) : (read as JsonValue | undefined);
};
/** An integer of 64 bits. */
export const integer: ApiType = scalar("an integer", isInt64);
/** An integer of 64 bits; left out when 0. */
export const nonzeroInteger: ApiType = scalar("an integer", isInt64, 0);
/** Any value but null. */
export const raw: ApiType = (value) => value ?? undefined;

function isInt64(value: JsonValue): boolean {
  if (typeof value === "bigint") return BigInt.asIntN(64, value) === value;
  return Number.isSafeInteger(value);
}

/** A list; left out when empty. What stands for a null item depends on its type. */
export function list(item: ApiType, nullItem: () => JsonValue): ApiType {
  const inner = anyList(item, nullItem);
  return (value, path, report) => {
    const items = inner(value, path, report);
    return Array.isArray(items) && items.length === 0 ? undefined : items;
  };
}

/** A list, also when empty. */
export function anyList(item: ApiType, nullItem: () => JsonValue): ApiType {
  return (value, path, report) => {
    if (value === null) return undefined;
    if (!Array.isArray(value)) return misfit("a list", value, path, report);
    return value.map((one, index) => item(one, [...path, index], report) ?? nullItem());
  };
}

/** An object with any keys, all values of one type; left out when empty. */
export function map(item: ApiType, nullItem: () => JsonValue): ApiType {
  return (value, path, report) => {
    if (value === null) return undefined;
    if (!isObject(value)) return misfit("an object", value, path, report);
    const result = emptyObject();
    for (const key of Object.keys(value)) {
      result[key] = item(value[key] as JsonValue, [...path, key], report) ?? nullItem();
    }
    return Object.keys(result).length === 0 ? undefined : result;
  };
}

/** An object with known fields. `fields` is asked for late, as a type may contain itself. */
export function struct(fields: () => ReadonlyMap<string, ApiField>): ApiType {
  return (value, path, report) => {
    if (value === null) return undefined;
    if (!isObject(value)) return misfit("an object", value, path, report);
    if (path.length > MAX_SCHEMA_DEPTH) {
      report.wrong(path, `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
      return undefined;
    }
    const known = fields();
    const result = emptyObject();
    for (const [field, { type, absent }] of known) {
      const given = Object.hasOwn(value, field) ? (value[field] as JsonValue) : null;
      const read = type(given, [...path, field], report) ?? absent;
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
