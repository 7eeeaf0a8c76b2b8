import {
  ANNOTATION_RESOURCE_NAME,
  LABEL_CLAIM_NAME,
  LABEL_CLAIM_NAMESPACE,
  LABEL_COMPOSITE,
  wrongTexts,
} from "@xfn/composition";
import { isObject, type JsonObject, type KubernetesObject, type ObjectMeta } from "@xfn/json";
import { type CompositeResource, describe } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { childName } from "./composed-name.ts";
import { type Identified, ownerReference, withoutServerFields } from "./identity.ts";

/** A DNS subdomain (RFC 1123). */
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_SUBDOMAIN_LENGTH = 253;
const RBAC_GROUP = "rbac.authorization.k8s.io/";

/**
 * Sets the identity of a composed resource of `mode: Pipeline`. Names, labels and owners are those of Crossplane 2, so
 * that a Composition can move between both without a second object of each resource.
 *
 * @throws {PipelineError} `InvalidDesired` for a name that no object can have, and for another controller
 */
export function identifyComplete(
  entry: string,
  desired: KubernetesObject,
  composite: CompositeResource,
  observed: KubernetesObject | undefined,
): Identified {
  const metadata = withoutServerFields(desired.metadata);
  if (observed !== undefined) {
    for (const field of ["name", "namespace", "generateName"] as const)
      setOrDelete(metadata, field, observed.metadata?.[field]);
  }
  const event = moveToNamespaceOf(composite, metadata, entry);
  const root = composite.metadata.labels?.[LABEL_COMPOSITE] || composite.metadata.name;
  if (!metadata.name && !metadata.generateName) metadata.generateName = `${root}-`;
  metadata.annotations = { ...metadata.annotations, [ANNOTATION_RESOURCE_NAME]: entry };
  metadata.labels = { ...metadata.labels, [LABEL_COMPOSITE]: root, ...claimLabels(composite) };
  metadata["ownerReferences"] = withController(metadata["ownerReferences"], composite, entry);
  if (!metadata.name) {
    const { uid } = composite.metadata;
    if (uid) metadata.name = childName(metadata.generateName ?? "", uid, entry);
    else delete metadata.name;
  } else checkName(metadata.name, desired, entry);
  const warnings = wrongTexts(metadata).map(
    ({ path, problem }) => `${path}: ${problem}, which an API server refuses; let the function return a string`,
  );
  return { resource: { ...desired, metadata }, warnings, ...(event && { event }) };
}

/** A namespaced XR composes in its own namespace. */
function moveToNamespaceOf(
  { metadata: { namespace } }: CompositeResource,
  metadata: ObjectMeta,
  entry: string,
): Identified["event"] {
  if (!namespace) return undefined;
  const asked = metadata.namespace;
  metadata.namespace = namespace;
  if (!asked || asked === namespace) return undefined;
  const message = `cannot create composed resource ${JSON.stringify(entry)} in namespace ${JSON.stringify(asked)}, using XR namespace ${JSON.stringify(namespace)} instead`;
  return { reason: "NamespaceOverridden", message };
}

function claimLabels({ metadata: { labels = {} } }: CompositeResource): { [label: string]: string } {
  const name = labels[LABEL_CLAIM_NAME];
  const namespace = labels[LABEL_CLAIM_NAMESPACE];
  return name && namespace ? { [LABEL_CLAIM_NAME]: name, [LABEL_CLAIM_NAMESPACE]: namespace } : {};
}

function withController(
  owners: JsonObject[string] | undefined,
  composite: CompositeResource,
  entry: string,
): JsonObject[] {
  const reference = ownerReference(composite);
  const others = Array.isArray(owners) ? owners.filter(isObject) : [];
  const other = others.find((owner) => owner["controller"] === true && owner["uid"] !== reference["uid"]);
  if (other !== undefined) {
    throw new PipelineError(
      "InvalidDesired",
      `composed resource ${JSON.stringify(entry)} names another controller than the composite resource: ` +
        `${describe(other)}; leave metadata.ownerReferences out`,
    );
  }
  const own = others.findIndex((owner) => owner["uid"] === reference["uid"]);
  return own === -1 ? [...others, reference] : others.with(own, reference);
}

function checkName(name: string, { apiVersion = "" }: KubernetesObject, entry: string): void {
  const checked = apiVersion.startsWith(RBAC_GROUP) ? name.replaceAll(":", "") : name;
  if (checked.length <= MAX_SUBDOMAIN_LENGTH && SUBDOMAIN.test(checked)) return;
  throw new PipelineError(
    "InvalidDesired",
    `composed resource ${JSON.stringify(entry)} has the name ${JSON.stringify(name.slice(0, 256))}, which is not an RFC 1123 ` +
      "subdomain; let its function use lower case letters, digits, - and .",
  );
}

function setOrDelete(
  metadata: ObjectMeta,
  field: "name" | "namespace" | "generateName",
  value: string | undefined,
): void {
  if (value) metadata[field] = value;
  else delete metadata[field];
}
