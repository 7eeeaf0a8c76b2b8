import { claimFieldOf, type Definition, hasReclaimPolicy } from "@xfn/composition/definition";
import { isObject, type JsonObject, newObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { exclusiveFields, fieldsOf } from "../objects/managed-fields.ts";

/**
 * Fields of a spec that are never copied between a claim and its composite, even if their schemas allow it (Crossplane
 * v1.13). A claim that could set `resourceRefs` of its composite could delete any object with it.
 */
const NEVER_COPIED: ReadonlySet<string> = new Set([
  "claimRef",
  "compositeDeletePolicy",
  "environmentConfigRefs",
  "publishConnectionDetailsTo",
  "resourceRef",
  "resourceRefs",
  "writeConnectionSecretToRef",
]);

/** Whether a field is never copied. The composite owns the reclaim policy, unless the author defines such a field. */
function isNeverCopied(field: string, definition: Definition): boolean {
  return (
    NEVER_COPIED.has(field) ||
    field === claimFieldOf(definition) ||
    (field === "reclaimPolicy" && hasReclaimPolicy(definition))
  );
}

/**
 * Fields that the claim only copies from its composite: the revision, unless the policy is Manual, and the Composition
 * that the definition enforces. If the claim could select another one, both controllers would overwrite each other
 * forever.
 */
function copiedOnlyFields(claim: LiveObject, { spec }: Definition): ReadonlySet<string> {
  const isManual = textAt(claim, "spec", "compositionUpdatePolicy") === "Manual";
  return new Set([
    ...(isManual ? [] : ["compositionRevisionRef"]),
    ...(spec.enforcedCompositionRef === undefined ? [] : ["compositionRef"]),
  ]);
}

/** The fields of a claim's spec that its composite gets: all except the fields that were copied from the composite. */
export function wantedSpec(claim: LiveObject, definition: Definition): JsonObject {
  const copied = ownSpecFields(claim);
  const copiedOnly = copiedOnlyFields(claim, definition);
  const spec = newObject();
  for (const [key, value] of Object.entries(objectAt(claim, "spec"))) {
    if (isNeverCopied(key, definition) || copiedOnly.has(key)) continue;
    const own = withoutFields(value, copied, key);
    if (own !== undefined) spec[key] = own;
  }
  return spec;
}

/**
 * The claim's spec, completed with the composite's fields that the claim's author does not set, such as the selected
 * Composition. Fields that were copied before follow the composite.
 */
export function completedSpec(claim: LiveObject, composite: LiveObject, definition: Definition): JsonObject {
  const copied = ownSpecFields(claim);
  const has = objectAt(claim, "spec");
  const from = objectAt(composite, "spec");
  const spec = completed(has, from, copied, (key) => isNeverCopied(key, definition));
  for (const field of copiedOnlyFields(claim, definition)) {
    const value = from[field];
    if (value !== undefined) spec[field] = value;
  }
  return spec;
}

/**
 * The fields of an object's spec that only the claim controller owns, as FieldsV1. In a claim, these are the copied
 * fields.
 */
export function ownSpecFields(object: LiveObject): JsonObject {
  const ours = fieldsOf(object, (manager) => manager === FIELD_MANAGERS.claim);
  const theirs = fieldsOf(object, (manager) => manager !== FIELD_MANAGERS.claim);
  return exclusiveFields(objectAt(ours, "f:spec"), objectAt(theirs, "f:spec"));
}

function isLeaf(fields: JsonObject, key: string): boolean {
  const inner = fields[`f:${key}`];
  return isObject(inner) && !Object.keys(inner).some((one) => one.startsWith("f:"));
}

function withoutFields(value: JsonObject[string], fields: JsonObject, key: string): JsonObject[string] | undefined {
  if (!Object.hasOwn(fields, `f:${key}`)) return value;
  if (isLeaf(fields, key) || !isObject(value)) return undefined;
  const inner = objectAt(fields, `f:${key}`);
  const rest = newObject();
  for (const [name, one] of Object.entries(value)) {
    const own = withoutFields(one, inner, name);
    if (own !== undefined) rest[name] = own;
  }
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function completed(
  has: JsonObject,
  from: JsonObject,
  copied: JsonObject,
  isExcluded: (key: string) => boolean = () => false,
): JsonObject {
  const result = newObject();
  for (const [key, value] of Object.entries(has)) {
    const source = Object.hasOwn(from, key) ? from[key] : undefined;
    if (isExcluded(key)) result[key] = value;
    else if (isLeaf(copied, key)) {
      if (source !== undefined) result[key] = source;
    } else if (isObject(value) && (isObject(source) || Object.hasOwn(copied, `f:${key}`))) {
      const inner = completed(value, isObject(source) ? source : {}, objectAt(copied, `f:${key}`));
      if (Object.keys(inner).length > 0 || Object.keys(value).length === 0) result[key] = inner;
    } else result[key] = value;
  }
  for (const [key, value] of Object.entries(from)) {
    if (!isExcluded(key) && !Object.hasOwn(has, key)) result[key] = value;
  }
  return result;
}
