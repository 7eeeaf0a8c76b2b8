import { checkMetadata, type NameRule } from "@xfn/composition/schema";
import { isObject, textOrEmpty, valueAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { positionOf } from "./documents.ts";
import type { FieldError, ResourceResult } from "./result.ts";
import { byPosition, issueError } from "./schema-errors.ts";

const RBAC = "rbac.authorization.k8s.io";

/** Kubernetes' own kinds whose names have another form than a DNS subdomain: `GROUP/KIND`. */
const NAME_RULES: ReadonlyMap<string, NameRule> = new Map([
  ["/Namespace", "label"],
  ["/Service", "label1035"],
  ["apiregistration.k8s.io/APIService", "segment"],
  [`${RBAC}/ClusterRole`, "segment"],
  [`${RBAC}/ClusterRoleBinding`, "segment"],
  [`${RBAC}/Role`, "segment"],
  [`${RBAC}/RoleBinding`, "segment"],
]);

/** The cluster-scoped kinds among those that are known without a definition or CRD, by group. */
const CLUSTER_KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  ["", ["Namespace", "Node", "PersistentVolume"]],
  [
    "admissionregistration.k8s.io",
    [
      "MutatingWebhookConfiguration",
      "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding",
      "ValidatingWebhookConfiguration",
    ],
  ],
  ["apiextensions.crossplane.io", ["Composition", "CompositeResourceDefinition"]],
  ["apiextensions.k8s.io", ["CustomResourceDefinition"]],
  ["apiregistration.k8s.io", ["APIService"]],
  ["certificates.k8s.io", ["CertificateSigningRequest"]],
  ["flowcontrol.apiserver.k8s.io", ["FlowSchema", "PriorityLevelConfiguration"]],
  ["networking.k8s.io", ["IngressClass"]],
  ["node.k8s.io", ["RuntimeClass"]],
  [RBAC, ["ClusterRole", "ClusterRoleBinding"]],
  ["ops.crossplane.io", ["CronOperation", "Operation", "WatchOperation"]],
  ["scheduling.k8s.io", ["PriorityClass"]],
  ["storage.k8s.io", ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"]],
]);

/** The longest value of a label: each CompositionRevision has the name of its Composition as one. */
const MAX_COMPOSITION_NAME_LENGTH = 63;

/** The entry of a composed resource, which gets its name later. */
const ENTRY_ANNOTATION = "crossplane.io/composition-resource-name";

/**
 * The errors and warnings of an object's metadata, as of an API server.
 *
 * @param namespaced whether the kind is namespaced; undefined if only its group and kind tell
 */
export function metadataErrors(
  document: ParsedDocument,
  namespaced?: boolean,
): { readonly errors: readonly FieldError[]; readonly warnings: readonly FieldError[] } {
  const { value } = document;
  if (!isObject(value)) return { errors: [], warnings: [] };
  const kind = textOrEmpty(value, "kind");
  const group = groupOf(textOrEmpty(value, "apiVersion"));
  const rules = {
    name: NAME_RULES.get(`${group}/${kind}`) ?? "subdomain",
    isComplete: valueAt(value, "metadata", "annotations", ENTRY_ANNOTATION) === undefined,
  };
  const errors = checkMetadata(value, rules).map((issue) => issueError(document, issue));
  const name = textOrEmpty(value, "metadata", "name");
  if (group === "apiextensions.crossplane.io" && kind === "Composition" && name.length > MAX_COMPOSITION_NAME_LENGTH) {
    const message = `metadata.name: Too long: may not be longer than ${MAX_COMPOSITION_NAME_LENGTH}: revisions carry it in a label`;
    errors.push({ type: "schema", field: "metadata.name", message, ...positionOf(document, ["metadata", "name"]) });
  }
  const isCluster = namespaced === undefined ? CLUSTER_KINDS.get(group)?.includes(kind) === true : !namespaced;
  if (!isCluster || textOrEmpty(value, "metadata", "namespace") === "") return { errors, warnings: [] };
  const at = ["metadata", "namespace"];
  const message = `metadata.namespace: has no effect: ${kind} is cluster-scoped`;
  return { errors, warnings: [{ type: "schema", field: "metadata.namespace", message, ...positionOf(document, at) }] };
}

/** The result of a parser, with the errors of the metadata that the parser did not report. */
export function withMetadata(document: ParsedDocument, result: ResourceResult): ResourceResult {
  const { errors, warnings } = metadataErrors(document);
  const reported = new Set(result.errors.map(({ field }) => field));
  const added = errors.filter(({ field }) => !reported.has(field));
  return {
    ...result,
    ...(added.length > 0 && { status: "invalid" }),
    errors: [...result.errors, ...added].toSorted(byPosition),
    warnings: [...result.warnings, ...warnings],
  };
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}
