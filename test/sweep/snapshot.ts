import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { printJson } from "@xfn/functionio/document";
import type { LiveObject } from "@xfn/kubernetes";
import { controllerOf, entryOf, objectsAt, textAt } from "./objects.ts";

/** All objects of a run at one moment, each as text, by a name that two runs share; without what two good runs may differ in. */
export type Snapshot = ReadonlyMap<string, string>;

// Only the server writes these, or they tell how often and when something was written, not what.
const DROPPED = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "observedGeneration",
  "creationTimestamp",
  "managedFields",
  "lastTransitionTime",
  "lastPublishedTime",
]);

/** @param id what the names of this run's objects have in them */
export function snapshot(objects: readonly LiveObject[], id: string): Snapshot {
  const names = sharedNames(objects, id);
  const replace = (text: string): string => {
    let replaced = text;
    for (const [own, shared] of names) replaced = replaced.replaceAll(own, shared);
    return replaced;
  };
  const entries = objects.map((object) => {
    const { namespace = "", name } = object.metadata;
    const text = replace(printJson(sorted(object), 1));
    return [`${object.kind} ${replace(`${namespace}/${name}`)}`, printJson(withSortedReferences(text), 1)] as const;
  });
  return new Map(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** What is different in another snapshot, one line each; empty if nothing is. */
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
  const index = left.findIndex((line, place) => line !== right[place]);
  const place = index === -1 ? left.length : index;
  return `expected ${left.slice(place, place + 3).join(" ")}, found ${right.slice(place, place + 3).join(" ")}`;
}

// UIDs, and names that were made of UIDs or at random, in the words of what they are. Longer ones first: one may be part of another.
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

// The name of a composite that nobody watches: that of its claim, and a hash.
function withoutHash(name: string, id: string): string {
  return name.replace(/-[0-9a-f]{12}$/, "-*").replaceAll(id, "ID");
}

// Their order is that of names which are made of UIDs.
function withSortedReferences(text: string): JsonValue {
  const object = JSON.parse(text) as JsonObject;
  const references = objectsAt(object, "spec", "resourceRefs");
  if (references.length > 0 && isObject(object["spec"]))
    object["spec"]["resourceRefs"] = references.toSorted((a, b) => (printJson(a) < printJson(b) ? -1 : 1));
  return object;
}

function numberOf(revision: JsonObject): JsonValue | undefined {
  const { spec } = revision;
  return isObject(spec) ? spec["revision"] : undefined;
}

// Keys in one order; lists stay as they are.
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value).toSorted()) {
    const field = value[key];
    if (DROPPED.has(key) || field === undefined) continue;
    const kept = sorted(field);
    // Of what had nothing but times nothing is left.
    if (isObject(field) && Object.keys(field).length > 0 && isObject(kept) && Object.keys(kept).length === 0) continue;
    result[key] = kept;
  }
  return result;
}
