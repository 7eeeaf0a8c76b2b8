import { type JsonObject, type JsonValue, newObject } from "@xfn/json";
import { Float64, type GoValue } from "../values/go-value.ts";
import { isObject, kindOf, MAX_VALUE_DEPTH } from "../values/json.ts";
import { type FieldPath, FieldPathError, findFieldPath, formatFieldPath } from "./field-path.ts";
import { setFieldPath } from "./set.ts";

/** How a value is merged into an existing one. */
export interface MergeOptions {
  /** Values of the target's maps win. */
  keepMapValues?: boolean;
  /** Append new items to lists. */
  appendSlice?: boolean;
}

/**
 * Merges a value into the value at a path. Without options the value replaces the existing one. With options, even
 * empty ones, objects merge deeply and the new value wins, even if it is null or empty. An empty object does not change
 * an object. If either value is null, the new value replaces the existing one.
 *
 * - `keepMapValues`: existing values win unless they are empty (null, false, 0, "", [] or {}).
 * - `appendSlice`: lists are appended to lists. At the path itself, items that the list already has are skipped. In
 *   nested lists they are not.
 *
 * On error the object is unchanged.
 *
 * @throws {FieldPathError} as `setFieldPath`, and `CannotMerge`: the existing value is not a list
 */
export function mergeFieldPath(
  object: JsonObject,
  path: FieldPath,
  value: GoValue,
  options: MergeOptions | null | undefined,
): void {
  if (options === undefined || options === null) return setFieldPath(object, path, value);
  const there = findFieldPath(object, path) ?? null;
  if (there === null || value === null) return setFieldPath(object, path, value);
  return setFieldPath(object, path, mergeValues(path, there, value, options));
}

/** Options of {@link mergeValues}. */
export interface MergeValuesOptions extends MergeOptions {
  /** Append only missing items to nested lists, too. */
  appendOnce?: boolean;
}

/**
 * Merges a value into an existing one, as {@link mergeFieldPath} does.
 *
 * @param path for messages
 * @throws {FieldPathError} `CannotMerge`
 */
export function mergeValues(path: FieldPath, there: JsonValue, value: GoValue, options: MergeValuesOptions): GoValue {
  return new Merge(path, options).whole(there, value);
}

class Merge {
  readonly #path: FieldPath;
  /** Whether the new value wins over the existing one. */
  readonly #overwrite: boolean;
  readonly #append: boolean;
  readonly #appendOnce: boolean;

  constructor(path: FieldPath, options: MergeValuesOptions) {
    this.#path = path;
    this.#overwrite = options.keepMapValues !== true;
    this.#append = options.appendSlice === true;
    this.#appendOnce = options.appendOnce === true;
  }

  whole(there: JsonValue, value: GoValue): GoValue {
    if (this.#append && Array.isArray(there) && Array.isArray(value)) {
      const added = without(value, there);
      // In Crossplane an empty list to which nothing is added becomes null.
      return there.length === 0 && added.length === 0 ? null : [...there, ...added];
    }
    return this.#value(there, value, 0);
  }

  /** Merges a value that is not null into an existing one. */
  #value(there: JsonValue, value: GoValue, depth: number): GoValue {
    if (Array.isArray(value)) {
      if (this.#append && there !== null) return this.#appended(there, value);
    } else if (isObject(value) && isObject(there)) {
      const merged = this.#objects(there, value, depth);
      return isEmpty(merged) ? value : merged;
    }
    return this.#overwrite || isEmpty(there) ? value : there;
  }

  #objects(there: JsonObject, value: JsonObject, depth: number): JsonObject {
    if (depth > MAX_VALUE_DEPTH) throw this.#error("InvalidValue", `is nested deeper than ${MAX_VALUE_DEPTH} levels`);
    const merged = Object.assign(newObject(), there);
    for (const [key, field] of Object.entries(value)) {
      const old = merged[key];
      if (field === null) {
        if (this.#overwrite) merged[key] = null;
      } else merged[key] = old === undefined ? field : (this.#value(old, field, depth + 1) as JsonValue);
    }
    return merged;
  }

  #appended(there: JsonValue, value: JsonValue[]): JsonValue[] {
    if (!Array.isArray(there)) throw this.#error("CannotMerge", `a list cannot be appended to ${kindOf(there)}`);
    return [...there, ...(this.#appendOnce ? without(value, there) : value)];
  }

  #error(code: "InvalidValue" | "CannotMerge", reason: string): FieldPathError {
    return new FieldPathError(code, `${formatFieldPath(this.#path)}: ${reason}`);
  }
}

/** Whether a value counts as empty for `keepMapValues`. */
function isEmpty(value: GoValue): boolean {
  switch (typeof value) {
    case "string":
      return value === "";
    case "number":
    case "bigint":
      return Number(value) === 0;
    case "boolean":
      return !value;
    default:
      if (value === null) return true;
      if (value instanceof Float64) return value.value === 0;
      if (Array.isArray(value)) return value.length === 0;
      for (const key in value) if (Object.hasOwn(value, key)) return false;
      return true;
  }
}

/** The items that are not among the others. Compares fingerprints: comparing all pairs would take quadratic time. */
function without(items: JsonValue[], others: JsonValue[]): JsonValue[] {
  const known = new Set(others.map((other) => fingerprint(other, 0)));
  return items.filter((item) => !known.has(fingerprint(item, 0)));
}

/** A string that only equal values share. As in Go, an int64 never equals a float64. */
function fingerprint(value: GoValue, depth: number): string {
  if (depth > MAX_VALUE_DEPTH) {
    throw new FieldPathError("InvalidValue", `a value is nested deeper than ${MAX_VALUE_DEPTH} levels`);
  }
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      return Number.isSafeInteger(value) ? String(value) : `f${value}`;
    case "bigint":
    case "boolean":
      return String(value);
    default:
      if (value === null) return "null";
      if (value instanceof Float64) return `f${value.value}`;
      if (Array.isArray(value)) return `[${value.map((item) => fingerprint(item, depth + 1)).join(",")}]`;
      return `{${Object.keys(value)
        .toSorted()
        .map((key) => `${JSON.stringify(key)}:${fingerprint(value[key] as JsonValue, depth + 1)}`)
        .join(",")}}`;
  }
}
