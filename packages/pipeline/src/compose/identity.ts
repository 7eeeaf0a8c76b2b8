import { ANNOTATION_RESOURCE_NAME, LABEL_CLAIM_NAME, LABEL_CLAIM_NAMESPACE, LABEL_COMPOSITE } from "@xfn/composition";
import { isObject, type JsonObject, type KubernetesObject, type ObjectMeta } from "@xfn/json";
import { type CompositeResource, describe } from "../observed/observed-entries.ts";
import { composedName } from "./composed-name.ts";

/** A composed resource with its identity. */
export interface Identified {
  resource: KubernetesObject;
  /** The function's requests that were not granted, without the entry's name. */
  warnings: string[];
  /** A warning with Crossplane's reason and message. */
  event?: { reason: string; message: string };
}

/** Gives a composed resource its name, labels and owner. */
export type Identify = (
  entry: string,
  desired: KubernetesObject,
  composite: CompositeResource,
  observed: KubernetesObject | undefined,
) => Identified;

/**
 * Fields that only the API server writes. A function that returns an observed object returns them too. The API server
 * refuses an apply with them, or reports conflicts with other writers.
 */
const SERVER_FIELDS: readonly string[] = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
];

/**
 * Sets the identity of a desired composed resource: name, labels, annotation and owner. It overwrites the function's
 * values, so that no function can claim another XR's resource, or release its own to another XR.
 *
 * @param entry the name of the entry in `desired.resources`
 * @param observed the existing object of this entry, which keeps its name
 */
export function identify(
  entry: string,
  desired: KubernetesObject,
  composite: CompositeResource,
  observed: KubernetesObject | undefined,
): Identified {
  const metadata = withoutServerFields(desired.metadata);
  // An object of a file can lack a name; an object of an API server has one.
  const warnings = observed?.metadata?.name ? keepName(metadata, observed) : nameNew(metadata, entry, composite);
  const labels = inheritedLabels(composite);
  metadata.labels = { ...metadata.labels, [LABEL_COMPOSITE]: labels.composite };
  for (const [label, value] of labels.claim) {
    if (value === undefined) delete metadata.labels[label];
    else metadata.labels[label] = value;
  }
  metadata.annotations = { ...metadata.annotations, [ANNOTATION_RESOURCE_NAME]: entry };
  metadata["ownerReferences"] = [...foreignOwners(metadata, composite), ownerReference(composite)];
  return { resource: { ...desired, metadata }, warnings };
}

/** A copy of metadata without the fields that only the API server writes. */
export function withoutServerFields(metadata: ObjectMeta | undefined): ObjectMeta {
  const copy = { ...metadata };
  for (const field of SERVER_FIELDS) delete copy[field];
  return copy;
}

/** The XR's own labels, so that all resources of a tree of XRs have the name of its root. */
function inheritedLabels(composite: CompositeResource): {
  composite: string;
  claim: [label: string, value: string | undefined][];
} {
  const { labels, name } = composite.metadata;
  const reference = isObject(composite["spec"]) ? composite["spec"]["claimRef"] : undefined;
  const claim = (field: string): string | undefined => {
    const value = isObject(reference) ? reference[field] : undefined;
    return typeof value === "string" ? value : undefined;
  };
  return {
    composite: labels?.[LABEL_COMPOSITE] || name,
    claim: [
      [LABEL_CLAIM_NAME, labels?.[LABEL_CLAIM_NAME] ?? claim("name")],
      [LABEL_CLAIM_NAMESPACE, labels?.[LABEL_CLAIM_NAMESPACE] ?? claim("namespace")],
    ],
  };
}

function nameNew(metadata: ObjectMeta, entry: string, composite: CompositeResource): string[] {
  const { namespace, uid } = composite.metadata;
  const warnings: string[] = [];
  if (namespace) {
    if (metadata.namespace && metadata.namespace !== namespace) {
      warnings.push(
        `asked for namespace ${metadata.namespace}; a namespaced composite composes in its own, ${namespace}`,
      );
    }
    metadata.namespace = namespace;
  }
  if (metadata.name) return warnings;
  delete metadata.name;
  const prefix = namePrefix(metadata, composite);
  if (uid) {
    metadata.name = composedName(prefix, uid, entry);
    delete metadata.generateName;
  } else metadata.generateName = prefix;
  return warnings;
}

function namePrefix(metadata: ObjectMeta, composite: CompositeResource): string {
  return metadata.generateName || `${inheritedLabels(composite).composite}-`;
}

/**
 * Sets the future name of a new composed resource, in place, so that functions see it. An XR without UID, as in a
 * render, has no name to set.
 */
export function nameUnnamed(resource: KubernetesObject, entry: string, composite: CompositeResource): void {
  const { uid } = composite.metadata;
  const { metadata } = resource;
  // A patch can set metadata to null.
  if (!uid || !metadata || metadata.name) return;
  metadata.name = composedName(namePrefix(metadata, composite), uid, entry);
}

function keepName(metadata: ObjectMeta, observed: KubernetesObject): string[] {
  const warnings: string[] = [];
  for (const field of ["name", "namespace"] as const) {
    const asked = metadata[field];
    if (asked && asked !== observed.metadata?.[field]) {
      warnings.push(`asked for ${field} ${asked}; it exists as ${describe(observed)} and keeps that name`);
    }
  }
  for (const field of ["name", "namespace", "generateName"] as const) {
    const has = observed.metadata?.[field];
    if (has) metadata[field] = has;
    else delete metadata[field];
  }
  return warnings;
}

/** Keeps owners that are not controllers: an object has one controller, and here it is the XR. */
function foreignOwners(metadata: ObjectMeta, composite: CompositeResource): JsonObject[] {
  const owners = metadata["ownerReferences"];
  if (!Array.isArray(owners)) return [];
  return owners.filter(isObject).filter((owner) => owner["controller"] !== true && !isReferenceTo(owner, composite));
}

function isReferenceTo(owner: JsonObject, composite: CompositeResource): boolean {
  const { uid, name } = composite.metadata;
  if (uid) return owner["uid"] === uid;
  return owner["apiVersion"] === composite.apiVersion && owner["kind"] === composite.kind && owner["name"] === name;
}

/** The XR as the controller of an object. */
export function ownerReference(composite: CompositeResource): JsonObject {
  return {
    apiVersion: composite.apiVersion,
    kind: composite.kind,
    name: composite.metadata.name,
    uid: composite.metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}
