import {
  deleteFieldPath,
  expandWildcards,
  type FieldPath,
  Float64,
  formatFieldPath,
  type GoValue,
  getBool,
  getFieldPath,
  getInteger,
  getNumber,
  getString,
  getStringArray,
  getStringObject,
  isNotFound,
  type MergeOptions,
  mergeFieldPath,
  parseFieldPath,
  setFieldPath,
} from "@xfn/composition";
import type { JsonObject, JsonValue } from "@xfn/json";
import type { Adapter } from "../adapter.ts";
import type { VectorCase } from "../vector-file.ts";

type Operation = (path: string, vector: VectorCase) => unknown;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  parse: (path) => printed(parseFieldPath(path)),
  get: (path, { object }) => getFieldPath(object as JsonValue, path),
  getString: (path, { object }) => getString(object as JsonValue, path),
  getInteger: (path, { object }) => getInteger(object as JsonValue, path),
  getNumber: (path, { object }) => getNumber(object as JsonValue, path),
  getBool: (path, { object }) => getBool(object as JsonValue, path),
  getStringArray: (path, { object }) => getStringArray(object as JsonValue, path),
  getStringObject: (path, { object }) => getStringObject(object as JsonValue, path),
  set: (path, { object, value }) =>
    changed(object, (copy) => setFieldPath(copy, parseFieldPath(path), value as GoValue)),
  delete: (path, { object }) => changed(object, (copy) => deleteFieldPath(copy, parseFieldPath(path))),
  expandWildcards: (path, { object }) =>
    expandWildcards(object as JsonValue, parseFieldPath(path))
      .map(formatFieldPath)
      .toSorted(),
  merge: (path, { object, value, mergeOptions }) =>
    changed(object, (copy) =>
      mergeFieldPath(copy, parseFieldPath(path), value as GoValue, mergeOptions as MergeOptions | undefined),
    ),
};

/** Field paths: parsing, reading, writing, deleting, wildcards and merging. */
export const fieldPath: Adapter = {
  run: (vector) => {
    const operation = OPERATIONS[String(vector["op"])];
    if (operation === undefined) throw new Error(`there is no op ${String(vector["op"])}`);
    return operation(String(vector["path"]), vector);
  },
  checkError: (error, vector) => {
    const expected = vector["notFound"] === true;
    return isNotFound(error) === expected ? undefined : `the error counts as ${expected ? "another" : "not found"}`;
  },
};

function printed(path: FieldPath): unknown {
  return {
    segments: path.map((segment) => (typeof segment === "number" ? { index: segment } : { field: segment })),
    string: formatFieldPath(path),
  };
}

/** Runs share vectors, so operations that change an object get a copy. */
function changed(object: JsonValue | undefined, change: (copy: JsonObject) => void): unknown {
  const copy = clone(object) as JsonObject;
  change(copy);
  return copy;
}

function clone(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clone);
  if (typeof value !== "object" || value === null || value instanceof Float64) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, clone(one)]));
}
