import { formatPath, isObject, type JsonPath } from "../value/json-value.ts";

/** A value without a JSON form. */
export interface NotJson {
  path: JsonPath;
  message: string;
}

/**
 * The first part of a value that JSON cannot represent: NaN or infinity, which `JSON.stringify` would silently turn
 * into null, a lone surrogate, undefined, a function, a class instance, or a cycle. Undefined if there is none.
 */
export function notJson(value: unknown): NotJson | undefined {
  return search(value, [], new Set());
}

function search(value: unknown, path: (string | number)[], above: Set<object>): NotJson | undefined {
  const message = complaint(value);
  if (message !== undefined) return { path: [...path], message };
  if (typeof value !== "object" || value === null) return undefined;
  if (above.has(value)) return { path: [...path], message: `contains itself (${formatPath(path)})` };
  above.add(value);
  const entries: Iterable<[string | number, unknown]> = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, child] of entries) {
    path.push(key);
    if (typeof key === "string" && !key.isWellFormed()) {
      return { path: [...path], message: "has half of a surrogate pair in its name" };
    }
    const found = search(child, path, above);
    if (found !== undefined) return found;
    path.pop();
  }
  above.delete(value);
  return undefined;
}

function complaint(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? undefined : "contains half of a surrogate pair, which UTF-8 cannot represent";
    case "number":
      return Number.isFinite(value) ? undefined : `is ${value}, which JSON cannot carry`;
    case "boolean":
    case "bigint":
      return undefined;
    case "object": {
      if (value === null || Array.isArray(value)) return undefined;
      const prototype: unknown = Object.getPrototypeOf(value);
      if (isObject(value) && (prototype === null || Object.getPrototypeOf(prototype) === null)) return undefined;
      return `is a ${value.constructor.name}, which JSON cannot carry; make it a string or a plain object`;
    }
    default:
      return `is ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}, which JSON cannot carry`;
  }
}
