import type { JsonObject, JsonValue } from "./json-value.ts";

/** Creates an object in which every key is data, including `__proto__`. */
export function newObject(): JsonObject {
  // `Object.create(null)` would make each object a slow dictionary.
  return Object.setPrototypeOf({}, null) as JsonObject;
}

/** Sets an object's own field of any name. Assigning `__proto__` to a plain object would change its prototype. */
export function setField(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else object[key] = value;
}
