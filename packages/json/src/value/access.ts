import { isObject, type JsonObject, type JsonPath, type JsonValue } from "./json-value.ts";

// Readers of values that nothing has checked yet: a field of another type counts as absent.

/** The value at a path; undefined if there is none. Reads own fields only, so that `constructor` is data. */
export function valueAt(value: JsonValue | undefined, ...path: JsonPath): JsonValue | undefined {
  let found = value;
  for (const step of path) {
    if (Array.isArray(found)) found = typeof step === "number" ? found[step] : undefined;
    else found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found;
}

/** The object at a path; empty if there is none. */
export function objectAt(value: JsonValue | undefined, ...path: JsonPath): JsonObject {
  const found = valueAt(value, ...path);
  return isObject(found) ? found : {};
}

/** The list at a path; empty if there is none. */
export function listAt(value: JsonValue | undefined, ...path: JsonPath): readonly JsonValue[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The objects of the list at a path. Skips items of other types. */
export function objectsAt(value: JsonValue | undefined, ...path: JsonPath): JsonObject[] {
  return listAt(value, ...path).filter(isObject);
}

/** The text at a path; undefined if there is none or it is empty, which is the same to Kubernetes. */
export function textAt(value: JsonValue | undefined, ...path: JsonPath): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The text at a path; "" if there is none. */
export function textOrEmpty(value: JsonValue | undefined, ...path: JsonPath): string {
  return textAt(value, ...path) ?? "";
}

/** The map of texts at a path, such as labels. Skips values of other types. */
export function textsAt(value: JsonValue | undefined, ...path: JsonPath): Record<string, string> {
  const texts = Object.setPrototypeOf({}, null) as Record<string, string>;
  for (const [key, text] of Object.entries(objectAt(value, ...path))) if (typeof text === "string") texts[key] = text;
  return texts;
}
