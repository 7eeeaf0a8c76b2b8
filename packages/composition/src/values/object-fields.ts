import { type JsonObject, type JsonValue, setField } from "@xfn/json";

/** Sets a field, or removes it if the text is empty. */
export function setText(object: JsonObject, name: string, text: string): void {
  if (text === "") delete object[name];
  else setField(object, name, text);
}

/** An own field. */
export function field(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** A field if it is a string, otherwise the empty string. */
export function textOf(object: JsonObject | undefined, name: string): string {
  const value = object === undefined ? undefined : field(object, name);
  return typeof value === "string" ? value : "";
}
