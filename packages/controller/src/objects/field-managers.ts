/**
 * The field managers of the controllers (Kubernetes, "Server-Side Apply"): one for each writer of an object.
 * Crossplane v1.13 uses these names, so that its objects can be taken over without a conflict.
 */
export const FIELD_MANAGERS = {
  /** Leases, events, and all other writes without a specific manager. */
  program: "xfn-controller",
  composed: "apiextensions.crossplane.io/composed",
  composite: "apiextensions.crossplane.io/composite",
  /** Writes composites from claims, and claims from composites. */
  claim: "apiextensions.crossplane.io/claim",
  /** CRDs and roles of definitions, and the status of definitions. */
  definition: "apiextensions.crossplane.io/definition",
  /** Revisions, and the status of Compositions. */
  composition: "apiextensions.crossplane.io/composition",
  /** Revisions of packages, and the status of packages. */
  package: "pkg.crossplane.io/package",
  /** The status of revisions of packages. */
  packageRevision: "pkg.crossplane.io/revision",
  /** The objects that run functions and providers. */
  runtime: "pkg.crossplane.io/runtime",
  /** Usages, and the label of the objects that they protect. */
  usage: "protection.crossplane.io/usage",
  connectionSecret: "apiextensions.crossplane.io/connection",
  /** The CRDs that the controller installs at start. */
  install: "apiextensions.crossplane.io/install",
} as const;
