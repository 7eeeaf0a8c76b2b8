import { isObject, type JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { objectAt } from "./read-objects.ts";

/**
 * The fields of an object that a field manager has, as Kubernetes keeps them in `metadata.managedFields` (FieldsV1: `f:name` for
 * a field, `.` for the object itself, `k:`, `v:` and `i:` for items of a list). Those of several entries are merged.
 */
export function fieldsOf(object: LiveObject, isManager: (manager: string) => boolean): JsonObject {
  const entries = object.metadata["managedFields"];
  const all: JsonObject = {};
  for (const entry of Array.isArray(entries) ? entries : []) {
    if (!isObject(entry) || typeof entry["manager"] !== "string" || !isManager(entry["manager"])) continue;
    // Those of the status are another's business, whoever wrote it.
    if (entry["subresource"] === "status") continue;
    mergeFields(all, objectAt(entry, "fieldsV1"));
  }
  return all;
}

/** The names of the fields that a manager has of one object within an object, such as its labels. */
export function ownedKeys(object: LiveObject, manager: string, ...path: readonly string[]): string[] {
  const fields = objectAt(
    fieldsOf(object, (name) => name === manager),
    ...path.map((step) => `f:${step}`),
  );
  return Object.keys(fields).flatMap((key) => (key.startsWith("f:") ? [key.slice(2)] : []));
}

function mergeFields(into: JsonObject, from: JsonObject): void {
  for (const key of Object.keys(from)) {
    const part = from[key];
    const merged: JsonObject = { ...objectAt(into, key) };
    if (isObject(part)) mergeFields(merged, part);
    into[key] = merged;
  }
}

/** The fields of one that are not also the other's, down to the last level. */
export function exclusiveFields(ours: JsonObject, theirs: JsonObject): JsonObject {
  const exclusive: JsonObject = {};
  for (const key of Object.keys(ours)) {
    // An object is there as long as a field of it is; items of lists are not told apart.
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
