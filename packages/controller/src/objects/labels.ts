import { createHash } from "node:crypto";

/**
 * On the CRDs and ClusterRoles of definitions. The controller watches only these, because a cluster may have thousands
 * of others.
 */
export const LABEL_DEFINED = "apiextensions.crossplane.io/defined";
/** Selects the objects that have {@link LABEL_DEFINED}. */
export const DEFINED_SELECTOR: { readonly labelSelector: string } = { labelSelector: LABEL_DEFINED };
/** On the CRDs of ManagedResourceDefinitions. */
export const LABEL_MANAGED = "apiextensions.crossplane.io/managed";
export const LABEL_COMPOSITION_NAME = "crossplane.io/composition-name";
export const LABEL_COMPOSITION_HASH = "crossplane.io/composition-hash";
/** On the revisions of a package: its name as a {@link labelValue}. */
export const LABEL_PACKAGE = "pkg.crossplane.io/package";
/** On the FunctionRuntimes that the controller created: the digest of their package. */
export const LABEL_SOURCE = "pkg.crossplane.io/source";
/** On the objects that run a FunctionRuntime or ProviderRuntime: its name as a {@link labelValue}. */
export const LABEL_RUNTIME = "pkg.crossplane.io/runtime";
/** `"true"`: the object is not reconciled. */
export const ANNOTATION_PAUSED = "crossplane.io/paused";
/** On an object that is polled: its own interval, a duration such as `5m`. */
export const ANNOTATION_POLL_INTERVAL = "crossplane.io/poll-interval";
/** On an XR: a token. A new one makes the controller reconcile the XR, and record the token in its status. */
export const ANNOTATION_RECONCILE_REQUESTED = "crossplane.io/reconcile-requested-at";
/** `"true"` on an XR: its runs are recorded (`--debug-recordings`). */
export const ANNOTATION_RECORD = "apiextensions.crossplane.io/record-runs";
/** `"true"` on a CompositionRevision: XRs use it only as far as its rollout allows. Without it, all XRs may use it. */
export const ANNOTATION_ROLLOUT = "apiextensions.crossplane.io/rollout";
/**
 * On an XR without a claim: the namespaces whose claims may be bound to it, separated by commas, or `*` for all. On a
 * definition, it applies to all of its XRs.
 */
export const ANNOTATION_CLAIMABLE_BY = "apiextensions.crossplane.io/claimable-by";
export const ANNOTATION_EXTERNAL_NAME = "crossplane.io/external-name";

/** The maximum length of a label value (Kubernetes, "Labels and Selectors"). */
export const MAX_LABEL_LENGTH = 63;

/** The label value that selects the objects of the object with this name: the name, shortened if necessary. */
export function labelValue(name: string): string {
  if (name.length <= MAX_LABEL_LENGTH) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return `${name.slice(0, MAX_LABEL_LENGTH - hash.length - 1).replace(/[.-]{1,50}$/, "")}-${hash}`;
}

/** A label selector in the API server's format: `a=b,c=d`. */
export function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
