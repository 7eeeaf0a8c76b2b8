import {
  type Composition,
  LABEL_CLAIM_NAME,
  LABEL_CLAIM_NAMESPACE,
  LABEL_COMPOSITE,
  type Layout,
  machineryOf,
  publishesDetails,
  specWith,
} from "@xfn/composition";
import {
  isObject,
  type JsonObject,
  type JsonValue,
  type KubernetesObject,
  newObject,
  objectAt,
  sameJson,
} from "@xfn/json";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { appliedFields, owns, project } from "../../objects/applied-fields.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { FINALIZER_COMPOSITE } from "../../objects/finalizers.ts";
import { recordOf } from "../../objects/references.ts";
import { takeOverXr } from "./take-over-xr.ts";

/** Fields of an XR's spec that functions cannot set, in the layout of Crossplane 1. */
const LEGACY_RESERVED: readonly string[] = ["resourceRefs", "claimRef"];
/** The same in the layout of Crossplane 2, where functions cannot select the Composition either. */
const RESERVED: readonly string[] = ["crossplane"];
/** Fields for the selected revision and environment. The controller owns them until a user writes them. */
const SELECTION: readonly string[] = [
  "compositionRef",
  "compositionRevisionRef",
  "compositionUpdatePolicy",
  "environmentConfigRefs",
];
const REFERENCES: readonly string[] = ["resourceRefs"];
const LABELS: readonly string[] = [LABEL_COMPOSITE, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE];

export interface CompositeIntentInput {
  readonly xr: LiveObject;
  readonly layout: Layout;
  readonly composition: Composition;
  /** The XR as templates and functions desire it. Absent: the fields of the last reconcile stay. */
  readonly desired: KubernetesObject | undefined;
  /** The fields of the spec that record the selected revision. */
  readonly changes: JsonObject;
  /** Absent: the recorded references stay. */
  readonly references?: Iterable<ObjectReference> | undefined;
  /** The default namespace for connection secrets of XRs that satisfy requirements. */
  readonly secretsNamespace?: string | undefined;
}

/**
 * The intent that the controller applies to an XR, without its status: the finalizer, the label of the tree, the
 * selected revision, the references, and the desired spec, labels and annotations. Drops other metadata that a function
 * sets.
 */
export function compositeIntent(input: CompositeIntentInput): KubernetesObject {
  const { xr, desired, layout } = input;
  const owned = ownedFields(xr);
  const ownSpec = ownedPart(xr, owned, "spec");
  const reserved = reservedSpec(layout);
  const composed =
    desired === undefined
      ? without(ownSpec, reserved)
      : changed(without(objectAt(desired, "spec"), reserved), objectAt(xr, "spec"), child(owned, "spec"));
  const machinery = {
    ...picked(machineryOf({ spec: ownSpec }, layout), SELECTION),
    ...secretReference(input, owned),
    ...input.changes,
    ...(input.references === undefined
      ? picked(machineryOf({ spec: ownSpec }, layout), REFERENCES)
      : record(input, input.references)),
  };
  const spec = Object.keys(machinery).length === 0 ? composed : specWith(composed, machinery, layout);
  const metadataOwned = child(owned, "metadata");
  const part = (field: "labels" | "annotations"): JsonObject =>
    desired === undefined
      ? without(objectAt(ownedPart(xr, owned, "metadata"), field), LABELS)
      : changed(
          without(objectAt(desired, "metadata", field), LABELS),
          objectAt(xr, "metadata", field),
          child(metadataOwned, field),
        );
  const { name, namespace, labels } = xr.metadata;
  const root = labels?.[LABEL_COMPOSITE] || name;
  const ownLabels = changed({ [LABEL_COMPOSITE]: root }, labels ?? {}, child(metadataOwned, "labels"));
  return {
    apiVersion: xr.apiVersion,
    kind: xr.kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...nonEmpty("labels", { ...part("labels"), ...ownLabels }),
      ...nonEmpty("annotations", part("annotations")),
      finalizers: [FINALIZER_COMPOSITE],
    },
    ...nonEmpty("spec", spec),
  };
}

/**
 * The intent for an XR's status, without its conditions: the fields that functions desire. Without a desired XR, such
 * as after a failed run, the fields of the last reconcile stay.
 */
export function statusIntent(xr: LiveObject, desired: KubernetesObject | undefined, layout: Layout): JsonObject {
  const reserved = layout.isLegacy ? LEGACY_RESERVED_STATUS : RESERVED_STATUS;
  const owned = appliedFields(xr, FIELD_MANAGERS.composite, "status");
  const status =
    desired === undefined
      ? ownedPart(xr, owned, "status")
      : changed(without(objectAt(desired, "status"), reserved), objectAt(xr, "status"), child(owned, "status"));
  return without(status, reserved);
}

/** The fields of an XR, except its status, that the controller owns, also those that {@link takeOverXr} takes over. */
function ownedFields(xr: LiveObject): JsonObject | undefined {
  return appliedFields(takeOverXr(xr)?.object ?? xr, FIELD_MANAGERS.xr, "");
}

/** The fields of an XR that functions and templates set in earlier reconciles. */
export function appliedByRuns(xr: LiveObject, layout: Layout): JsonObject {
  const { isLegacy } = layout;
  const owned = ownedFields(xr);
  const status = ownedPart(xr, appliedFields(xr, FIELD_MANAGERS.composite, "status"), "status");
  const { labels = {}, annotations = {} } = ownedPart(xr, owned, "metadata");
  return {
    metadata: { labels, annotations },
    spec: without(ownedPart(xr, owned, "spec"), isLegacy ? [...reservedSpec(layout), ...SELECTION] : RESERVED),
    status: without(status, isLegacy ? LEGACY_RESERVED_STATUS : RESERVED_STATUS),
  };
}

/** Fields of an XR's spec that functions cannot set. */
function reservedSpec({ isLegacy, claimField }: Layout): readonly string[] {
  if (!isLegacy) return RESERVED;
  return claimField === undefined ? LEGACY_RESERVED : [...LEGACY_RESERVED, claimField];
}

/** Fields of a status that functions cannot set. */
const RESERVED_STATUS: readonly string[] = ["conditions", "lastHandledReconcileAt"];
/** The same for XRs of Crossplane 1, where `connectionDetails` has the time of publishing. */
const LEGACY_RESERVED_STATUS: readonly string[] = [...RESERVED_STATUS, "connectionDetails"];

/** An empty list is written only to replace another. */
function record({ xr, layout }: CompositeIntentInput, references: Iterable<ObjectReference>): JsonObject {
  const resourceRefs = recordOf(xr, references);
  return resourceRefs.length > 0 || machineryOf(xr, layout)["resourceRefs"] !== undefined ? { resourceRefs } : {};
}

/**
 * The default connection secret of an XR that names none. The XR gets one if its Composition has a namespace for
 * connection secrets. It also gets one if it satisfies a requirement: in the design, requirements always have a Secret
 * to copy.
 */
function secretReference(
  { xr, layout, composition, secretsNamespace }: CompositeIntentInput,
  owned: JsonObject | undefined,
): JsonObject {
  if (!publishesDetails(layout)) return {};
  const field = "writeConnectionSecretToRef";
  const existing = objectAt(xr, "spec")[field];
  if (existing !== undefined) return owns(owned, ["spec", field]) ? { [field]: existing } : {};
  const isRequired = layout.claimField !== undefined && objectAt(xr, "spec")[layout.claimField] !== undefined;
  const { uid } = xr.metadata;
  const namespace = composition.spec.writeConnectionSecretsToNamespace;
  if (namespace !== undefined) return { [field]: { name: uid, namespace } };
  // In the design, Compositions name the Secret of a composed resource after the UID.
  if (isRequired && secretsNamespace !== undefined)
    return { [field]: { name: `${uid}-composite`, namespace: secretsNamespace } };
  return {};
}

/**
 * The desired fields that differ from the live object, or that the controller owns already. Functions often return
 * their whole input: if the controller owned all of it, no user could remove a field.
 */
function changed(desired: JsonObject, live: JsonObject, owned: JsonObject | undefined): JsonObject {
  const result = newObject();
  for (const key of Object.keys(desired)) {
    const value = desired[key] as JsonValue;
    const there = Object.hasOwn(live, key) ? live[key] : undefined;
    const fields = child(owned, key);
    const isWhole = fields !== undefined && Object.keys(fields).every((name) => name === ".");
    if (isObject(value) && isObject(there) && !isWhole) {
      const part = changed(value, there, fields);
      if (Object.keys(part).length > 0) result[key] = part;
    } else if (fields !== undefined || !sameJson(value, there)) result[key] = value;
  }
  return result;
}

function ownedPart(xr: LiveObject, owned: JsonObject | undefined, field: "spec" | "status" | "metadata"): JsonObject {
  const fields = child(owned, field);
  const value = xr[field];
  const part = fields === undefined || !isObject(value) ? undefined : project(value, fields);
  return isObject(part) ? part : {};
}

function child(fields: JsonObject | undefined, key: string): JsonObject | undefined {
  const found = fields !== undefined && Object.hasOwn(fields, `f:${key}`) ? fields[`f:${key}`] : undefined;
  return isObject(found) ? found : undefined;
}

function without(object: JsonObject, fields: readonly string[]): JsonObject {
  return filtered(object, (field) => !fields.includes(field));
}

function picked(object: JsonObject, fields: readonly string[]): JsonObject {
  return filtered(object, (field) => fields.includes(field));
}

function filtered(object: JsonObject, isIncluded: (field: string) => boolean): JsonObject {
  const result = newObject();
  for (const field of Object.keys(object)) if (isIncluded(field)) result[field] = object[field] as JsonValue;
  return result;
}

function nonEmpty(field: string, value: JsonObject): JsonObject {
  return Object.keys(value).length === 0 ? {} : { [field]: value };
}
