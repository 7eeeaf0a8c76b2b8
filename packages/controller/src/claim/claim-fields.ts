import type { Definition } from "@xfn/composition/definition";
import { isObject, type JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { exclusiveFields, fieldsOf } from "../objects/managed-fields.ts";
import { objectAt, textAt } from "../objects/read-objects.ts";

/** The field manager of what claims say of their composites, and of what is said of the composites in the claims. */
export const CLAIM_MANAGER = "apiextensions.crossplane.io/claim";

/**
 * Fields of a spec that are the machinery's own on one side: they never cross, whatever a schema allows (Crossplane v1.13;
 * seed 004). A claim that could set `resourceRefs` of its composite would have others' objects deleted with it.
 */
const NEVER_CROSSES: ReadonlySet<string> = new Set([
  "claimRef",
  "compositeDeletePolicy",
  "environmentConfigRefs",
  "publishConnectionDetailsTo",
  "resourceRef",
  "resourceRefs",
  "writeConnectionSecretToRef",
]);

/**
 * Fields in which the claim only shows what its composite has: the revision, unless its author chooses one by the policy Manual,
 * and a composition that the definition enforces. A claim that went on asking for another would have it overwritten for ever.
 */
function shownFields(claim: LiveObject, { spec }: Definition): ReadonlySet<string> {
  const isManual = textAt(claim, "spec", "compositionUpdatePolicy") === "Manual";
  return new Set([
    ...(isManual ? [] : ["compositionRevisionRef"]),
    ...(spec.enforcedCompositionRef === undefined ? [] : ["compositionRef"]),
  ]);
}

/** What a claim wants of its composite's spec: its own, without the fields that were copied there from the composite. */
export function wantedSpec(claim: LiveObject, definition: Definition): JsonObject {
  const copied = copiedFields(claim);
  const shown = shownFields(claim, definition);
  const spec: JsonObject = Object.create(null) as JsonObject;
  for (const [key, value] of Object.entries(objectAt(claim, "spec"))) {
    if (NEVER_CROSSES.has(key) || shown.has(key)) continue;
    const own = withoutFields(value, copied, key);
    if (own !== undefined) spec[key] = own;
  }
  return spec;
}

/**
 * The claim's spec with what its composite has and it does not say itself: such as the composition that was selected. Fields
 * that were copied before follow the composite; what the claim's author wrote stays.
 */
export function completedSpec(claim: LiveObject, composite: LiveObject, definition: Definition): JsonObject {
  const copied = copiedFields(claim);
  const has = objectAt(claim, "spec");
  const from = objectAt(composite, "spec");
  const spec = completed(has, from, copied, (key) => NEVER_CROSSES.has(key));
  for (const field of shownFields(claim, definition)) {
    const value = from[field];
    if (value !== undefined) spec[field] = value;
  }
  return spec;
}

/** The fields of a claim's spec that we wrote and nobody else: they come from the composite, and do not go back to it. */
function copiedFields(claim: LiveObject): JsonObject {
  const ours = fieldsOf(claim, (manager) => manager === CLAIM_MANAGER);
  const theirs = fieldsOf(claim, (manager) => manager !== CLAIM_MANAGER);
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
  const rest: JsonObject = Object.create(null) as JsonObject;
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
  isKept: (key: string) => boolean = () => false,
): JsonObject {
  const result: JsonObject = Object.create(null) as JsonObject;
  for (const [key, value] of Object.entries(has)) {
    const source = Object.hasOwn(from, key) ? from[key] : undefined;
    if (isKept(key)) result[key] = value;
    else if (isLeaf(copied, key)) {
      if (source !== undefined) result[key] = source;
    } else if (isObject(value) && (isObject(source) || Object.hasOwn(copied, `f:${key}`))) {
      const inner = completed(value, isObject(source) ? source : {}, objectAt(copied, `f:${key}`));
      if (Object.keys(inner).length > 0 || Object.keys(value).length === 0) result[key] = inner;
    } else result[key] = value;
  }
  for (const [key, value] of Object.entries(from)) {
    if (!isKept(key) && !Object.hasOwn(has, key)) result[key] = value;
  }
  return result;
}
