import { isObject, type JsonObject, type KubernetesObject, objectAt, objectsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";

/**
 * An object as functions receive it. Managed fields are omitted: only the server uses them, and they are longer than
 * the object.
 */
export function withoutManagedFields(object: LiveObject): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * The fields of an object that the given field managers own, merged over all entries of `metadata.managedFields`.
 * FieldsV1 uses `f:name` for a field, `.` for the object itself, and `k:`, `v:` and `i:` for list items.
 */
export function fieldsOf(object: LiveObject, isManager: (manager: string) => boolean): JsonObject {
  const all: JsonObject = {};
  for (const entry of objectsAt(object.metadata, "managedFields")) {
    if (typeof entry["manager"] !== "string" || !isManager(entry["manager"])) continue;
    // Skip status fields; the status writer manages them.
    if (entry["subresource"] === "status") continue;
    mergeFields(all, objectAt(entry, "fieldsV1"));
  }
  return all;
}

/** The names of the fields that a manager owns within a nested object, such as the labels. */
export function ownedKeys(object: LiveObject, manager: string, ...path: readonly string[]): string[] {
  const fields = objectAt(
    fieldsOf(object, (name) => name === manager),
    ...path.map((step) => `f:${step}`),
  );
  return Object.keys(fields).flatMap((key) => (key.startsWith("f:") ? [key.slice(2)] : []));
}

/** Merges fields into others, in place. */
export function mergeFields(into: JsonObject, from: JsonObject): void {
  for (const key of Object.keys(from)) {
    const part = from[key];
    const merged: JsonObject = { ...objectAt(into, key) };
    if (isObject(part)) mergeFields(merged, part);
    into[key] = merged;
  }
}

/** The fields in the first set but not in the second, compared down to the leaves. */
export function exclusiveFields(ours: JsonObject, theirs: JsonObject): JsonObject {
  const exclusive: JsonObject = {};
  for (const key of Object.keys(ours)) {
    // Skip `.`: an object exists while one of its fields does. List items are not compared.
    if (!key.startsWith("f:")) continue;
    const own = objectAt(ours, key);
    const other = objectAt(theirs, key);
    const isLeaf = !Object.keys(own).some((inner) => inner !== ".");
    if (!Object.hasOwn(theirs, key)) exclusive[key] = own;
    else if (!isLeaf) {
      const inner = exclusiveFields(own, other);
      if (Object.keys(inner).length > 0) exclusive[key] = inner;
    }
  }
  return exclusive;
}
