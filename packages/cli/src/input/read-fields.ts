import { isObject, type JsonValue } from "@xfn/json";

/** The value at a path of field names; undefined if there is none. */
export function valueAt(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  let at = value;
  for (const key of path) at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  return at;
}

/** The text at a path of field names, else "". */
export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}
