import type { JsonPath, JsonValue } from "@xfn/functionio";
import { Float64 } from "../../values/go-value.ts";
import { emptyObject, isObject, kindOf } from "../../values/json.ts";

// An API server decodes what it is sent into types: it drops fields that it does not know, takes null for absent, and
// leaves out on the way back what is empty. A CRD has to be in that form, or every comparison with what the server
// returns finds a difference. Shapes describe such types.

/** Who is told of what does not fit while a value is read. */
export interface ShapeReader {
  /** The value at `path` cannot be what it is. */
  wrong(path: JsonPath, message: string): void;
  /** An object has a field that its type lacks; it is dropped. */
  unknown?(path: JsonPath, field: string, known: readonly string[]): void;
}

/** Reads one value of a type; undefined if it is left out. */
export type Shape = (value: JsonValue, path: JsonPath, reader: ShapeReader) => JsonValue | undefined;

/** Schemas nested deeper than this are refused; the same bound as for documents, which keeps recursion off the stack's end. */
export const MAX_SCHEMA_DEPTH = 500;

/** The field's type, with what stands for an absent field that is written nevertheless. */
export interface FieldShape {
  readonly shape: Shape;
  readonly absent?: JsonValue;
}

function scalar(expected: string, fits: (value: JsonValue) => boolean, empty?: JsonValue): Shape {
  return (value, path, reader) => {
    if (value === null || value === empty) return undefined;
    if (fits(value)) return value;
    reader.wrong(path, `expected ${expected}, found ${kindOf(value)}`);
    return undefined;
  };
}

/** A string; left out when empty. */
export const text: Shape = scalar("a string", (value) => typeof value === "string", "");
/** A string that may be empty. */
export const anyText: Shape = scalar("a string", (value) => typeof value === "string");
/** A boolean; left out when false. */
export const flag: Shape = scalar("a boolean", (value) => typeof value === "boolean", false);
/** A boolean, whatever it is. */
export const anyFlag: Shape = scalar("a boolean", (value) => typeof value === "boolean");
const anyNumber: Shape = scalar(
  "a number",
  (value: unknown) => typeof value === "number" || typeof value === "bigint" || value instanceof Float64,
);
/** Any number; an API server keeps it as a float64, so that integers beyond 2^53 are rounded. */
export const number: Shape = (value, path, reader) => {
  const read: unknown = anyNumber(value, path, reader);
  return typeof read === "bigint" ? Number(read) : (read as JsonValue | undefined);
};
/** An integer of 64 bits. */
export const integer: Shape = scalar("an integer", isInt64);
/** An integer of 64 bits; left out when 0. */
export const nonzeroInteger: Shape = scalar("an integer", isInt64, 0);
/** Any value but null. */
export const raw: Shape = (value) => value ?? undefined;

function isInt64(value: JsonValue): boolean {
  if (typeof value === "bigint") return BigInt.asIntN(64, value) === value;
  return Number.isSafeInteger(value);
}

/** A list; left out when empty. What stands for a null item depends on its type. */
export function list(item: Shape, nullItem: () => JsonValue): Shape {
  const inner = anyList(item, nullItem);
  return (value, path, reader) => {
    const items = inner(value, path, reader);
    return Array.isArray(items) && items.length === 0 ? undefined : items;
  };
}

/** A list, also when empty. */
export function anyList(item: Shape, nullItem: () => JsonValue): Shape {
  return (value, path, reader) => {
    if (value === null) return undefined;
    if (!Array.isArray(value)) return misfit("a list", value, path, reader);
    return value.map((one, index) => item(one, [...path, index], reader) ?? nullItem());
  };
}

/** An object with any keys, all values of one type; left out when empty. */
export function map(item: Shape, nullItem: () => JsonValue): Shape {
  return (value, path, reader) => {
    if (value === null) return undefined;
    if (!isObject(value)) return misfit("an object", value, path, reader);
    const result = emptyObject();
    for (const key of Object.keys(value)) {
      result[key] = item(value[key] as JsonValue, [...path, key], reader) ?? nullItem();
    }
    return Object.keys(result).length === 0 ? undefined : result;
  };
}

/** An object with known fields. `fields` is asked for late, as a type may contain itself. */
export function struct(fields: () => ReadonlyMap<string, FieldShape>): Shape {
  return (value, path, reader) => {
    if (value === null) return undefined;
    if (!isObject(value)) return misfit("an object", value, path, reader);
    if (path.length > MAX_SCHEMA_DEPTH) {
      reader.wrong(path, `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
      return undefined;
    }
    const known = fields();
    const result = emptyObject();
    for (const [field, { shape, absent }] of known) {
      const given = Object.hasOwn(value, field) ? (value[field] as JsonValue) : null;
      const read = shape(given, [...path, field], reader) ?? absent;
      if (read !== undefined) result[field] = read;
    }
    if (reader.unknown !== undefined) {
      for (const field of Object.keys(value)) {
        if (!known.has(field)) reader.unknown([...path, field], field, [...known.keys()]);
      }
    }
    return result;
  };
}

function misfit(expected: string, value: JsonValue, path: JsonPath, reader: ShapeReader): undefined {
  reader.wrong(path, `expected ${expected}, found ${kindOf(value)}`);
  return undefined;
}
