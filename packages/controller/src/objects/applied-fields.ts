import {
  isObject,
  type JsonObject,
  type JsonValue,
  type KubernetesObject,
  newObject,
  objectsAt,
  sameJson,
} from "@xfn/json";
import { nativeJson } from "@xfn/json/text";

/** The fields that a field manager has applied to an object and still owns. */
export interface AppliedFields {
  /** The version of the last apply, such as `example.org/v1`. */
  readonly apiVersion: JsonValue | undefined;
  /** In the format of `metadata.managedFields`: FieldsV1 of structured-merge-diff. */
  readonly fields: JsonObject;
}

/**
 * The fields that a field manager has applied to an object and still owns (Kubernetes, "Server-Side Apply"). The server
 * keeps one entry for all applies of a manager, in any version: an apply removes the fields of the last one that it
 * omits.
 *
 * @param subresource "" for the object itself
 * @returns undefined if the manager has not applied
 */
export function lastApplied(
  object: KubernetesObject,
  manager: string,
  subresource: "" | "status",
): AppliedFields | undefined {
  const entry = objectsAt(object.metadata, "managedFields").find(
    (one) => one["manager"] === manager && one["operation"] === "Apply" && (one["subresource"] ?? "") === subresource,
  );
  if (entry === undefined) return undefined;
  const { apiVersion, fieldsV1: fields } = entry;
  return isObject(fields) ? { apiVersion, fields } : undefined;
}

/** The fields of {@link lastApplied}. */
export function appliedFields(
  object: KubernetesObject,
  manager: string,
  subresource: "" | "status",
): JsonObject | undefined {
  return lastApplied(object, manager, subresource)?.fields;
}

/**
 * The part of a value that a set of fields names. A field without inner fields covers its whole value. List items are
 * matched by their keys, and stay in the order of the list.
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
  const part = newObject();
  for (const name of names) {
    const key = name.slice(2);
    const field = name.startsWith("f:") && Object.hasOwn(value, key) ? value[key] : undefined;
    if (field !== undefined) part[key] = project(field, childOf(fields, name));
  }
  return part;
}

/** Whether a set of fields contains or covers this path. */
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

/** Names of list items: `k:{"port":80}` by keys, `v:"x"` by value, `i:0` by index. */
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
  // An intent may omit a key that has a default. The stored object has all keys.
  return (item) =>
    isObject(item) &&
    keys.some(([key]) => item[key] !== undefined) &&
    keys.every(([key, value]) => item[key] === undefined || sameJson(item[key], value));
}
