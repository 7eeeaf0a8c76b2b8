import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import type { LiveObject } from "@xfn/kubernetes";
import { at, controllerOf, entryOf, objectsAt, referencesPath, textAt } from "./objects.ts";

/**
 * All objects of a run at one moment, as texts, by names that all runs share. Leaves out what may differ between
 * runs.
 */
export type Snapshot = ReadonlyMap<string, string>;

// Fields that only the server writes, or that depend on the number and the times of writes.
const DROPPED = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "observedGeneration",
  "creationTimestamp",
  "managedFields",
  "lastTransitionTime",
  "lastPublishedTime",
  "startedAt",
  "canarySince",
  "canaryUntil",
  "unusedSince",
  // Crashes add attempts to an Operation, whose history is checked instead.
  "attempts",
  "failures",
]);

/** @param id part of the names of this run's objects */
export function snapshot(objects: readonly LiveObject[], id: string): Snapshot {
  const replace = namer(objects, id);
  const entries = objects.map((object) => {
    const { namespace = "", name } = object.metadata;
    const text = replace(printJson(sorted(object), 1));
    return [`${object.kind} ${replace(`${namespace}/${name}`)}`, printJson(withSortedReferences(text), 1)] as const;
  });
  return new Map(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Replaces UIDs and names of the run in a text by those that all runs share. @param id part of the run's names */
export function namer(objects: readonly LiveObject[], id: string): (text: string) => string {
  const names = sharedNames(objects, id);
  return (text) => {
    let replaced = text;
    for (const [own, shared] of names) replaced = replaced.replaceAll(own, shared);
    return replaced;
  };
}

/** The differences between two snapshots, one line each. */
export function differences(expected: Snapshot, found: Snapshot): string[] {
  const lines: string[] = [];
  for (const [name, text] of expected) {
    const other = found.get(name);
    if (other === undefined) lines.push(`missing: ${name}`);
    else if (other !== text) lines.push(`different: ${name}: ${firstDifference(text, other)}`);
  }
  for (const name of found.keys()) if (!expected.has(name)) lines.push(`too many: ${name}`);
  return lines;
}

function firstDifference(a: string, b: string): string {
  const [left, right] = [a.split("\n"), b.split("\n")];
  const index = left.findIndex((line, at) => line !== right[at]);
  const start = index === -1 ? left.length : index;
  return `expected ${left.slice(start, start + 3).join(" ")}, found ${right.slice(start, start + 3).join(" ")}`;
}

// Replacements of UIDs, and of names that contain UIDs or are random. Longer ones first: one may be part of another.
function sharedNames(objects: readonly LiveObject[], id: string): [own: string, shared: string][] {
  const names = new Map<string, string>();
  const byUid = new Map(objects.map((object) => [object.metadata.uid, object]));
  const nameOf = (object: LiveObject): string => {
    const owner = byUid.get(textAt(controllerOf(object), "uid") ?? "");
    const entry = entryOf(object);
    if (entry !== undefined && owner !== undefined) return `(${entry} of ${nameOf(owner)})`;
    const composite =
      textAt(controllerOf(object), "name") ?? textAt(object, "metadata", "labels", "crossplane.io/composite");
    if (entry !== undefined && composite !== undefined) return `(${entry} of ${withoutHash(composite, id)})`;
    if (object.kind === "CompositionRevision" && owner !== undefined)
      return `(revision ${String(numberOf(object))} of ${nameOf(owner)})`;
    const claim = textAt(object, "spec", "claimRef", "name");
    if (claim !== undefined) return `(composite of ${claim.replaceAll(id, "ID")})`;
    return object.metadata.name.replaceAll(id, "ID");
  };
  for (const object of objects) {
    const { uid, name } = object.metadata;
    const owner = textAt(controllerOf(object), "name");
    if (owner !== undefined && !byUid.has(textAt(controllerOf(object), "uid") ?? ""))
      names.set(owner, withoutHash(owner, id));
    names.set(uid, `(uid of ${object.kind} ${nameOf(object)})`);
    if (nameOf(object) !== name.replaceAll(id, "ID")) names.set(name, nameOf(object));
    const hash = textAt(object, "metadata", "labels", "crossplane.io/composition-hash");
    if (hash !== undefined) names.set(hash, `(hash of ${nameOf(object)})`);
  }
  names.set(id, "ID");
  return [...names].toSorted(([a], [b]) => b.length - a.length);
}

// The name of a composite that the sweep does not watch: its claim's name and a hash.
function withoutHash(name: string, id: string): string {
  return name.replace(/-[0-9a-f]{12}$/, "-*").replaceAll(id, "ID");
}

// Sorts references, whose order depends on UIDs, and owners, whose order depends on which controller was first.
function withSortedReferences(text: string): JsonValue {
  const object = JSON.parse(text) as JsonObject;
  const owners = objectsAt(object, "metadata", "ownerReferences");
  if (owners.length > 1 && isObject(object["metadata"])) object["metadata"]["ownerReferences"] = inOrder(owners);
  const path = referencesPath(object);
  const references = objectsAt(object, ...path);
  const holder = at(object, ...path.slice(0, -1));
  if (references.length > 0 && isObject(holder)) holder["resourceRefs"] = inOrder(references);
  return object;
}

function inOrder(list: readonly JsonObject[]): JsonObject[] {
  return list.toSorted((a, b) => (printJson(a) < printJson(b) ? -1 : 1));
}

function numberOf(revision: JsonObject): JsonValue | undefined {
  const { spec } = revision;
  return isObject(spec) ? spec["revision"] : undefined;
}

// Sorts keys; lists stay in their order.
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value).toSorted()) {
    const field = value[key];
    if (DROPPED.has(key) || field === undefined) continue;
    const remaining = sorted(field);
    // Skip objects that contained only dropped fields.
    if (isObject(field) && Object.keys(field).length > 0 && isObject(remaining) && Object.keys(remaining).length === 0)
      continue;
    result[key] = remaining;
  }
  return result;
}
