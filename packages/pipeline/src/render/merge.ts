import { isObject, type JsonObject } from "@xfn/json";

/** Merges objects, as an API server does: objects merge, other values replace. */
export function merge(base: JsonObject, overlay: JsonObject): JsonObject {
  const merged = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    const after = isObject(before) && isObject(value) ? merge(before, value) : value;
    // `__proto__` is an ordinary key here; an assignment would set the prototype.
    Object.defineProperty(merged, key, { value: after, enumerable: true, configurable: true, writable: true });
  }
  return merged;
}
