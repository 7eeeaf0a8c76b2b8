import { isObject, type JsonObject, objectAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { lastApplied } from "../../objects/applied-fields.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { mergeFields } from "../../objects/managed-fields.ts";
import { isControlledBy } from "../../objects/owner.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import type { ActorName } from "../state/composite-port.ts";

/**
 * The field managers of Crossplane's controllers for composed resources: `crossplane` until v1.13, and
 * `apiextensions.crossplane.io/composed/HASH` since v1.14.
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
 * Plans to take over the fields that Crossplane wrote to a composed resource. Otherwise a field that a template no
 * longer has would stay forever, because Crossplane still owns it.
 *
 * Leaves nested composites unchanged: Crossplane uses one field manager for their templates' fields and their own.
 *
 * @returns undefined if there is nothing to take over
 */
export function takeOver(xr: LiveObject, object: LiveObject): TakeOver | undefined {
  const managedFields = isControlledBy(object, xr) ? takenOver(object) : undefined;
  if (managedFields === undefined) return undefined;
  return {
    object: { ...object, metadata: { ...object.metadata, managedFields } },
    action: {
      do: "patch",
      as: "composition",
      on: referenceTo(object),
      manager: FIELD_MANAGERS.composed,
      why: "Crossplane owns fields that templates write",
      body: { metadata: { managedFields } },
      seen: object,
      guard: "version",
    },
  };
}

/** `metadata.managedFields` with Crossplane's fields assigned to the controller; undefined if Crossplane owns none. */
function takenOver(object: LiveObject): JsonObject[] | undefined {
  const entries = object.metadata["managedFields"];
  const spec = objectAt(object, "spec");
  if (!Array.isArray(entries) || OF_COMPOSITES.some((field) => spec[field] !== undefined)) return undefined;
  const taken: JsonObject = {};
  const rest: JsonObject[] = [];
  for (const entry of entries.filter(isObject)) {
    const [ours, theirs] = isCrossplanes(entry, object) ? split(objectAt(entry, "fieldsV1")) : [{}, undefined];
    mergeFields(taken, ours);
    if (Object.keys(ours).length === 0) rest.push(entry);
    else if (theirs !== undefined && Object.keys(theirs).length > 0) rest.push({ ...entry, fieldsV1: theirs });
  }
  if (Object.keys(taken).length === 0) return undefined;
  mergeFields(taken, lastApplied(object, FIELD_MANAGERS.composed, "")?.fields ?? {});
  return [
    ...rest.filter((entry) => entry["manager"] !== FIELD_MANAGERS.composed || entry["operation"] !== "Apply"),
    {
      manager: FIELD_MANAGERS.composed,
      operation: "Apply",
      apiVersion: object.apiVersion,
      fieldsType: "FieldsV1",
      fieldsV1: taken,
    },
  ];
}

function isCrossplanes(entry: JsonObject, { apiVersion }: LiveObject): boolean {
  const { manager, subresource = "" } = entry;
  // Fields of another version may have other names.
  if (entry["apiVersion"] !== apiVersion || subresource !== "") return false;
  return typeof manager === "string" && CROSSPLANE.test(manager);
}

/** Splits fields into those that templates write and all others. */
function split(fields: JsonObject): [ours: JsonObject, theirs: JsonObject] {
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
