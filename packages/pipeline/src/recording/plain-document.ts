import { isObject, type JsonObject, type JsonValue, newObject } from "@xfn/json";
import { parseTrustedJson } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";

/** A copy of an object with its keys in order, so that two recordings of the same run are the same files. */
export function plainObject(value: JsonObject): JsonObject {
  const plain = sorted(parseTrustedJson(printJson(value)));
  return isObject(plain) ? plain : newObject();
}

/** A copy of a value with the keys of its objects in order. */
export function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const copy = newObject();
  for (const key of Object.keys(value).toSorted()) copy[key] = sorted(value[key] ?? null);
  return copy;
}
