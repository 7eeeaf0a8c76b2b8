import { type JsonValue, newObject } from "@xfn/json";
import { asDouble, asInt64, type GoValue, goKind } from "../values/go-value.ts";
import { isObject, kindOf } from "../values/json.ts";
import { type FieldPath, FieldPathError, formatFieldPath, getFieldPath } from "./field-path.ts";

// Typed values of fields. All functions throw FieldPathErrors like getFieldPath, and `WrongType` for a value of another
// type, null included. As in Crossplane, an integer in the document is an int64 and never a float64.

/** The string at a path. */
export function getString(root: JsonValue, path: string | FieldPath): string {
  const value = getFieldPath(root, path);
  if (typeof value !== "string") throw notA("a string", value, path);
  return value;
}

/** The boolean at a path. */
export function getBool(root: JsonValue, path: string | FieldPath): boolean {
  const value = getFieldPath(root, path);
  if (typeof value !== "boolean") throw notA("a boolean", value, path);
  return value;
}

/** The int64 at a path, exact. */
export function getInteger(root: JsonValue, path: string | FieldPath): bigint {
  const value = getFieldPath(root, path);
  if (!isNumber("int64", value)) throw notA("an integer", value, path);
  return asInt64(value);
}

/** The float64 at a path: a number that is not an int64. */
export function getNumber(root: JsonValue, path: string | FieldPath): number {
  const value = getFieldPath(root, path);
  if (!isNumber("float64", value)) throw notA("a number that is not an integer", value, path);
  return asDouble(value);
}

/** The list of strings at a path. */
export function getStringArray(root: JsonValue, path: string | FieldPath): string[] {
  const value = getFieldPath(root, path);
  if (!Array.isArray(value)) throw notA("a list", value, path);
  return value.map((item) => {
    if (typeof item !== "string") throw notA("a list of strings", item, path);
    return item;
  });
}

/** The object at a path whose values are all strings, such as labels; a copy, without a prototype. */
export function getStringObject(root: JsonValue, path: string | FieldPath): { [key: string]: string } {
  const value = getFieldPath(root, path);
  if (!isObject(value)) throw notA("an object", value, path);
  const strings = newObject() as { [key: string]: string };
  for (const [key, field] of Object.entries(value)) {
    if (typeof field !== "string") throw notA("an object of strings", field, path);
    strings[key] = field;
  }
  return strings;
}

function isNumber(kind: "int64" | "float64", value: GoValue): value is number | bigint {
  return goKind(value) === kind;
}

function notA(wanted: string, value: JsonValue, path: string | FieldPath): FieldPathError {
  const name = typeof path === "string" ? path : formatFieldPath(path);
  return new FieldPathError("WrongType", `${name}: expected ${wanted}, found ${kindOf(value)}`);
}
