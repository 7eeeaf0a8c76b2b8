import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/functionio";
import { nativeJson } from "@xfn/functionio/document";
import { sameJson } from "./same-json.ts";

/** What a field manager applied to an object and still owns. */
export interface Applied {
  /** The version that it was applied in, such as `example.org/v1`. */
  readonly apiVersion: JsonValue | undefined;
  /** In the form of `metadata.managedFields`: FieldsV1 of structured-merge-diff. */
  readonly fields: JsonObject;
}

/**
 * What a field manager applied to an object and still owns (Kubernetes, "Server-Side Apply"), in whatever version: a server keeps
 * one entry for all applies of a manager, and takes away what the next one leaves out, though it be of another version. Undefined
 * if there is none.
 *
 * @param subresource "" for the object itself
 */
export function applied(object: KubernetesObject, manager: string, subresource: "" | "status"): Applied | undefined {
  const entries = object.metadata?.["managedFields"];
  if (!Array.isArray(entries)) return undefined;
  const entry = entries.find(
    (one) =>
      isObject(one) &&
      one["manager"] === manager &&
      one["operation"] === "Apply" &&
      (one["subresource"] ?? "") === subresource,
  );
  if (!isObject(entry)) return undefined;
  const { apiVersion, fieldsV1: fields } = entry;
  return isObject(fields) ? { apiVersion, fields } : undefined;
}

/** The fields of {@link applied}. */
export function appliedFields(
  object: KubernetesObject,
  manager: string,
  subresource: "" | "status",
): JsonObject | undefined {
  return applied(object, manager, subresource)?.fields;
}

/**
 * The part of a value that a set of fields names. A field without fields of its own stands for all that is in it; items of a
 * list are found by their keys, and stay in the list's order.
 */
export function project(value: JsonValue, fields: JsonObject): JsonValue {
  const names = Object.keys(fields).filter((name) => name !== ".");
  if (names.length === 0) return value;
  if (Array.isArray(value)) {
    const items = names.map((name): [(item: JsonValue, index: number) => boolean, JsonObject] => [
      itemMatcher(name),
      childOf(fields, name),
    ]);
    return value.flatMap((item, index) => {
      const found = items.find(([matches]) => matches(item, index));
      return found === undefined ? [] : [project(item, found[1])];
    });
  }
  if (!isObject(value)) return value;
  const part = Object.create(null) as JsonObject;
  for (const name of names) {
    const key = name.slice(2);
    const field = name.startsWith("f:") && Object.hasOwn(value, key) ? value[key] : undefined;
    if (field !== undefined) part[key] = project(field, childOf(fields, name));
  }
  return part;
}

/** Whether a set of fields has one at this path, itself or in what it stands for. */
export function owns(fields: JsonObject | undefined, path: readonly string[]): boolean {
  let at: JsonObject | undefined = fields;
  for (const key of path) {
    if (at === undefined || !Object.hasOwn(at, `f:${key}`)) return false;
    at = childOf(at, `f:${key}`);
  }
  return at !== undefined;
}

function childOf(fields: JsonObject, name: string): JsonObject {
  const child = fields[name];
  return isObject(child) ? child : {};
}

/** `k:{"port":80}` is the item with these keys, `v:"x"` the item of this value, `i:0` the first. */
function itemMatcher(name: string): (item: JsonValue, index: number) => boolean {
  const text = name.slice(2);
  if (name.startsWith("i:")) return (_, index) => String(index) === text;
  let wanted: JsonValue;
  try {
    wanted = nativeJson(text) as JsonValue;
  } catch {
    return () => false;
  }
  if (name.startsWith("v:")) return (item) => sameJson(item, wanted);
  if (!name.startsWith("k:") || !isObject(wanted)) return () => false;
  const keys = Object.entries(wanted);
  // An intent may leave out a key that has a default; what a server holds has all of them.
  return (item) =>
    isObject(item) &&
    keys.some(([key]) => item[key] !== undefined) &&
    keys.every(([key, value]) => item[key] === undefined || sameJson(item[key], value));
}
