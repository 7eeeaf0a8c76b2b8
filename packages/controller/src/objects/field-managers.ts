import { createHash } from "node:crypto";
import type { LiveObject } from "@xfn/kubernetes";

/**
 * The field managers of the controllers (Kubernetes, "Server-Side Apply"): one for each writer of an object.
 * Crossplane uses these names, so that objects pass from one to the other without a change.
 */
export const FIELD_MANAGERS = {
  /** Leases, events, and all other writes without a specific manager. */
  program: "xfn-controller",
  /** The status of XRs. Crossplane removes all fields of an XR that have this owner except its references. */
  composite: "apiextensions.crossplane.io/composite",
  /** XRs without their status. */
  xr: "xfn-controller/composite",
  /** Writes composites from claims, and claims from composites. */
  claim: "apiextensions.crossplane.io/claim",
  /** CRDs and roles of definitions, and the status of definitions. */
  definition: "apiextensions.crossplane.io/definition",
  /** CRDs and the status of ManagedResourceDefinitions, and what activates them. */
  managed: "apiextensions.crossplane.io/managed",
  /** Revisions, and the status of Compositions. */
  composition: "apiextensions.crossplane.io/composition",
  /** Revisions of packages, and the status of packages. */
  package: "pkg.crossplane.io/package",
  /** The status of revisions of packages. */
  packageRevision: "pkg.crossplane.io/revision",
  /** The objects that run functions and providers. */
  runtime: "pkg.crossplane.io/runtime",
  /** ClusterUsages that protect providers. */
  protection: "apiextensions.crossplane.io/managed-protection",
  /** Usages, and the label of the objects that they protect. */
  usage: "protection.crossplane.io/usage",
  /** The status of Operations, CronOperations and WatchOperations, and the Operations that these create. */
  operation: "ops.crossplane.io/operation",
  connectionSecret: "apiextensions.crossplane.io/connection",
  /** The CRDs that the controller installs at start. */
  install: "apiextensions.crossplane.io/install",
} as const;

/** The field manager of composed resources in older versions, the same for all XRs. */
export const FORMER_COMPOSED_MANAGER = "apiextensions.crossplane.io/composed";

/**
 * The field manager of the composed resources of an XR, as Crossplane names it since v1.14: an object of another XR of
 * this name and kind has the same one.
 */
export function composedManager({ apiVersion, kind, metadata }: LiveObject): string {
  // XRs always have a group.
  const [group] = apiVersion.split("/");
  const text = `${metadata.name}${kind}.${group}`;
  return `${FORMER_COMPOSED_MANAGER}/${createHash("sha256").update(text).digest("hex")}`;
}

/** The field manager of the objects that an Operation applies, as in Crossplane. */
export function appliedManager({ metadata }: LiveObject): string {
  return `${FIELD_MANAGERS.operation}/${metadata.uid}`;
}
