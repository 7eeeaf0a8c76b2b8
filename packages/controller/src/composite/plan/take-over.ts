import { isObject, type JsonObject, objectAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { lastApplied } from "../../objects/applied-fields.ts";
import { composedManager, FORMER_COMPOSED_MANAGER } from "../../objects/field-managers.ts";
import { mergeFields } from "../../objects/managed-fields.ts";
import { isControlledBy } from "../../objects/owner.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import type { ActorName } from "../state/composite-actors.ts";

/**
 * The field managers of Crossplane's controllers for composed resources: `crossplane` until v1.13, and
 * `apiextensions.crossplane.io/composed/HASH` since v1.14, where the hash is that of an XR.
 */
const CROSSPLANE = /^(?:crossplane|apiextensions\.crossplane\.io\/composed\/[0-9a-f]+)$/;

/** Annotations that Crossplane's providers need even if no template sets them, such as the external name. */
const KEPT_KEY = /^f:(?:[^/]*\.)?crossplane\.io\//;

/** Fields of the spec that only composites have. */
const OF_COMPOSITES: readonly string[] = ["compositionRef", "compositionRevisionRef", "resourceRefs"];

/** A write that takes over fields, and the object as it will be afterwards. */
export interface TakeOver {
  readonly action: Action<ActorName>;
  readonly object: LiveObject;
}

/**
 * Plans to take over the fields of a composed resource that older versions of Crossplane or of this controller, or
 * another XR, wrote. Otherwise a field that a template no longer has would stay forever, because they still own it.
 *
 * @returns undefined if there is nothing to take over
 */
export function takeOver(xr: LiveObject, object: LiveObject): TakeOver | undefined {
  const manager = composedManager(xr);
  const managedFields = isControlledBy(object, xr) ? takenOver(object, manager) : undefined;
  if (managedFields === undefined) return undefined;
  return withOwners(object, managedFields, {
    as: "composition",
    manager,
    why: "another owner has fields that templates write",
  });
}

/** Replaces the owners of an object's fields. */
export function withOwners(
  object: LiveObject,
  managedFields: JsonObject[],
  common: Pick<Action<ActorName>, "as" | "manager" | "why">,
): TakeOver {
  const metadata = { managedFields };
  return {
    object: { ...object, metadata: { ...object.metadata, managedFields } },
    action: { ...common, do: "patch", on: referenceTo(object), body: { metadata }, seen: object, guard: "version" },
  };
}

/** `metadata.managedFields` with the fields of former owners assigned to this one; undefined if there are none. */
function takenOver(object: LiveObject, manager: string): JsonObject[] | undefined {
  const entries = object.metadata["managedFields"];
  if (!Array.isArray(entries)) return undefined;
  const taken: JsonObject = {};
  const rest: JsonObject[] = [];
  for (const entry of entries.filter(isObject)) {
    const [ours, theirs] = splitEntry(entry, object, manager);
    mergeFields(taken, ours);
    if (Object.keys(ours).length === 0) rest.push(entry);
    else if (Object.keys(theirs).length > 0) rest.push({ ...entry, fieldsV1: theirs });
  }
  if (Object.keys(taken).length === 0) return undefined;
  mergeFields(taken, lastApplied(object, manager, "")?.fields ?? {});
  return [
    ...rest.filter((entry) => entry["manager"] !== manager || entry["operation"] !== "Apply"),
    { manager, operation: "Apply", apiVersion: object.apiVersion, fieldsType: "FieldsV1", fieldsV1: taken },
  ];
}

type Split = readonly [ours: JsonObject, theirs: JsonObject];

/** The fields of an entry that the owner takes over, and those that stay. */
function splitEntry(entry: JsonObject, object: LiveObject, own: string): Split {
  const { apiVersion, manager, operation, subresource = "" } = entry;
  const fields = objectAt(entry, "fieldsV1");
  // Fields of another version may have other names.
  if (typeof manager !== "string" || manager === own || apiVersion !== object.apiVersion || subresource !== "")
    return [{}, fields];
  if (manager === FORMER_COMPOSED_MANAGER && operation === "Apply") return [fields, {}];
  return CROSSPLANE.test(manager) && !isComposite(object) ? split(fields) : [{}, fields];
}

/** Crossplane used one field manager for the fields of a nested composite's template and for its own. */
function isComposite(object: LiveObject): boolean {
  const spec = objectAt(object, "spec");
  return OF_COMPOSITES.some((field) => spec[field] !== undefined);
}

/** Splits fields into those that templates write and all others. */
function split(fields: JsonObject): Split {
  const ours: JsonObject = {};
  const theirs: JsonObject = {};
  for (const key of Object.keys(fields)) {
    const inner = objectAt(fields, key);
    if (key === "f:metadata") {
      const [labels, others] = splitMetadata(inner);
      if (Object.keys(labels).length > 0) ours[key] = labels;
      if (Object.keys(others).length > 0) theirs[key] = others;
    } else (key === "f:status" || !key.startsWith("f:") ? theirs : ours)[key] = inner;
  }
  return [ours, theirs];
}

function splitMetadata(fields: JsonObject): [ours: JsonObject, theirs: JsonObject] {
  const ours: JsonObject = {};
  const theirs: JsonObject = {};
  for (const part of Object.keys(fields)) {
    const inner = objectAt(fields, part);
    const isMap = part === "f:labels" || part === "f:annotations";
    for (const key of isMap ? Object.keys(inner) : []) {
      const target = key.startsWith("f:") && !KEPT_KEY.test(key) ? ours : theirs;
      target[part] = { ...objectAt(target, part), [key]: objectAt(inner, key) };
    }
    if (!isMap) theirs[part] = inner;
  }
  return [ours, theirs];
}
