import { type Composition, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/functionio";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { appliedFields, owns, project } from "./applied-fields.ts";
import { FINALIZER_COMPOSITE } from "./labels.ts";
import { objectAt } from "./read-objects.ts";
import { recordOf } from "./references.ts";
import { sameJson } from "./same-json.ts";

/** The field manager of everything that we apply to XRs. */
export const COMPOSITE_MANAGER = "apiextensions.crossplane.io/composite";

/** Fields of an XR's spec that say what it is, whatever a function says. */
const OURS: readonly string[] = ["resourceRefs", "claimRef"];
/** Fields that say what was selected: ours until a user writes them. */
const SELECTION: readonly string[] = ["compositionRef", "compositionRevisionRef", "compositionUpdatePolicy"];
const LABELS: readonly string[] = [LABEL_COMPOSITE, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE];

/** What {@link compositeIntent} is given. */
export interface CompositeIntentInput {
  readonly xr: LiveObject;
  readonly composition: Composition;
  /** What templates and functions desire of the XR; absent: it is left as it is. */
  readonly wanted: KubernetesObject | undefined;
  /** What selection has to say in the spec. */
  readonly changes: JsonObject;
  readonly references: Iterable<ObjectReference>;
}

/**
 * What we apply to an XR, status apart: our finalizer, the label of its tree, what was selected, what it has composed, and of
 * spec, labels and annotations what functions desire. Everything else that a function says of its metadata is overridden by
 * being left out.
 */
export function compositeIntent(input: CompositeIntentInput): KubernetesObject {
  const { xr, wanted, changes } = input;
  const owned = appliedFields(xr, COMPOSITE_MANAGER, "");
  const spec = {
    ...(wanted === undefined
      ? without(ownedPart(xr, owned, "spec"), OURS)
      : changed(without(objectAt(wanted, "spec"), OURS), objectAt(xr, "spec"), child(owned, "spec"))),
    ...picked(ownedPart(xr, owned, "spec"), SELECTION),
    ...secretReference(input, owned),
    ...changes,
    ...record(input),
  };
  const metadataOwned = child(owned, "metadata");
  const part = (field: "labels" | "annotations"): JsonObject =>
    wanted === undefined
      ? without(objectAt(ownedPart(xr, owned, "metadata"), field), LABELS)
      : changed(
          without(objectAt(wanted, "metadata", field), LABELS),
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
 * What we apply to an XR's status besides its conditions: what functions desire. While they could not be asked, and where they
 * desire nothing of the XR, it stays as they have left it.
 */
export function statusIntent(xr: LiveObject, wanted: KubernetesObject | undefined): JsonObject {
  const owned = appliedFields(xr, COMPOSITE_MANAGER, "status");
  const status =
    wanted === undefined
      ? ownedPart(xr, owned, "status")
      : changed(without(objectAt(wanted, "status"), STATUS_OURS), objectAt(xr, "status"), child(owned, "status"));
  return without(status, STATUS_OURS);
}

/** `connectionDetails` tells when they were published. */
const STATUS_OURS: readonly string[] = ["conditions", "connectionDetails"];

/** A list that says nothing is written only where one stands. */
function record({ xr, references }: CompositeIntentInput): JsonObject {
  const resourceRefs = recordOf(references);
  return resourceRefs.length > 0 || objectAt(xr, "spec")["resourceRefs"] !== undefined ? { resourceRefs } : {};
}

/** Where the connection secret goes that an XR names no place for, if its Composition has a namespace for them. */
function secretReference({ xr, composition }: CompositeIntentInput, owned: JsonObject | undefined): JsonObject {
  const field = "writeConnectionSecretToRef";
  const existing = objectAt(xr, "spec")[field];
  if (existing !== undefined) return owns(owned, ["spec", field]) ? { [field]: existing } : {};
  const namespace = composition.spec.writeConnectionSecretsToNamespace;
  return namespace === undefined ? {} : { [field]: { name: xr.metadata.uid, namespace } };
}

/**
 * Of what is desired the fields that are another's value, or ours already. Functions tend to return what they were given: if all
 * of that became ours, nobody could ever take a field of it away again.
 */
function changed(wanted: JsonObject, live: JsonObject, owned: JsonObject | undefined): JsonObject {
  const result = Object.create(null) as JsonObject;
  for (const key of Object.keys(wanted)) {
    const value = wanted[key] as JsonValue;
    const there = Object.hasOwn(live, key) ? live[key] : undefined;
    const ours = child(owned, key);
    const whole = ours !== undefined && Object.keys(ours).every((name) => name === ".");
    if (isObject(value) && isObject(there) && !whole) {
      const part = changed(value, there, ours);
      if (Object.keys(part).length > 0) result[key] = part;
    } else if (ours !== undefined || !sameJson(value, there)) result[key] = value;
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

function filtered(object: JsonObject, keep: (field: string) => boolean): JsonObject {
  const result = Object.create(null) as JsonObject;
  for (const field of Object.keys(object)) if (keep(field)) result[field] = object[field] as JsonValue;
  return result;
}

function nonEmpty(field: string, value: JsonObject): JsonObject {
  return Object.keys(value).length === 0 ? {} : { [field]: value };
}
