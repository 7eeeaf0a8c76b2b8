import { formatPath, type JsonValue, listAt, type ParseLimits, valueAt } from "@xfn/json";
import { FunctionIOError } from "./functionio-error.ts";

/** Bounds of a FunctionIO. */
export interface FunctionIOLimits extends ParseLimits {
  /** Results, and resources of observed and of desired state: so many of each. Default: as many as the size allows. */
  maxEntries?: number;
  /** Fields and items of each desired object. Default: as many as the size allows. */
  maxObjectValues?: number;
}

const LISTS: readonly (readonly string[])[] = [["results"], ["desired", "resources"], ["observed", "resources"]];

/**
 * Checks the lengths of the lists that the pipeline handles entry by entry, before it looks at an entry.
 *
 * @throws {FunctionIOError} TooManyValues
 */
export function checkEntries(value: JsonValue, maxEntries: number, source: string | undefined): void {
  for (const path of LISTS) checkLength(value, path, maxEntries, source);
}

function checkLength(value: JsonValue, path: readonly string[], maxEntries: number, source: string | undefined): void {
  if (listAt(value, ...path).length <= maxEntries) return;
  const message = `has more than ${maxEntries} entries in ${formatPath(path)}; the function must return fewer`;
  throw new FunctionIOError("TooManyValues", [{ path: "", message }], source);
}

/**
 * Checks the number of fields and items of each desired object, which no API server stores beyond some size.
 *
 * @throws {FunctionIOError} TooManyValues
 */
export function checkObjects(value: JsonValue, maxValues: number, source: string | undefined): void {
  checkValues(valueAt(value, "desired", "composite", "resource"), "desired.composite.resource", maxValues, source);
  for (const [index, entry] of listAt(value, "desired", "resources").entries())
    checkValues(valueAt(entry, "resource"), `desired.resources[${index}].resource`, maxValues, source);
}

function checkValues(value: JsonValue | undefined, path: string, maxValues: number, source: string | undefined): void {
  if (value === undefined || valuesLeft(value, maxValues) >= 0) return;
  const message = `has more than ${maxValues} fields and items in ${path}; the function must return fewer`;
  throw new FunctionIOError("TooManyValues", [{ path: "", message }], source);
}

/**
 * Checks the lengths of the lists of a ResourceList, then the number of fields and items of each item.
 *
 * @throws {FunctionIOError} TooManyValues
 */
export function checkItemLimits(value: JsonValue, limits: FunctionIOLimits, source: string | undefined): void {
  const { maxEntries = Infinity, maxObjectValues } = limits;
  for (const list of ["items", "results"]) checkLength(value, [list], maxEntries, source);
  if (maxObjectValues === undefined) return;
  for (const [index, item] of listAt(value, "items").entries())
    checkValues(item, `items[${index}]`, maxObjectValues, source);
}

/** Subtracts the fields and items of a value from `most`, until that is negative. */
function valuesLeft(value: JsonValue, most: number): number {
  let left = most;
  if (typeof value !== "object" || value === null) return left;
  if (Array.isArray(value)) {
    for (const item of value) {
      left = valuesLeft(item, left - 1);
      if (left < 0) break;
    }
    return left;
  }
  for (const key in value) {
    left = valuesLeft(value[key] as JsonValue, left - 1);
    if (left < 0) break;
  }
  return left;
}
