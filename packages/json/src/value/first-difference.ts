import { isObject, type JsonObject, type JsonPath, type JsonValue } from "./json-value.ts";

/**
 * The path of the first difference between two JSON values, or undefined if they are equal. The order of keys does not
 * matter. Numbers compare by value: `1.0` and a bigint of the same value equal `1`.
 */
export function firstDifference(left: JsonValue | undefined, right: JsonValue | undefined): JsonPath | undefined {
  const path: (string | number)[] = [];
  return equal(left, right, path) ? undefined : path.reverse();
}

/**
 * Whether two JSON values are equal. Builds `path` from the inside out if they differ, so that equal values cost
 * nothing.
 */
function equal(left: JsonValue | undefined, right: JsonValue | undefined, path: (string | number)[]): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    // oxlint-disable-next-line eslint/eqeqeq -- a bigint and a number of the same value are equal
    return isNumeric(left) && isNumeric(right) && left == right;
  }
  if (Array.isArray(left)) {
    if (!Array.isArray(right)) return false;
    const length = Math.max(left.length, right.length);
    for (let i = 0; i < length; i++) {
      if (!equal(left[i], right[i], path)) {
        path.push(i);
        return false;
      }
    }
    return true;
  }
  if (!isObject(right)) return false;
  return equalObjects(left, right, path);
}

function equalObjects(left: JsonObject, right: JsonObject, path: (string | number)[]): boolean {
  let keys = 0;
  for (const key in left) {
    keys++;
    if (!equal(left[key], right[key], path)) {
      path.push(key);
      return false;
    }
  }
  for (const _ in right) keys--;
  if (keys === 0) return true;
  for (const key in right) {
    if (!Object.hasOwn(left, key)) {
      path.push(key);
      return false;
    }
  }
  return true;
}

function isNumeric(value: JsonValue | undefined): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
