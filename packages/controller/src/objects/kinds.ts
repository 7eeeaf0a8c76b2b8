import type { ResourceKind } from "@xfn/kubernetes";

const GROUP = { group: "apiextensions.crossplane.io", version: "v1", namespaced: false } as const;

/** Compositions, in the version in which they are stored. */
export const COMPOSITIONS: ResourceKind = { ...GROUP, kind: "Composition", plural: "compositions" };
/** What makes a kind be served. */
export const CRDS: ResourceKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
/** The revisions of compositions. */
export const REVISIONS: ResourceKind = { ...GROUP, kind: "CompositionRevision", plural: "compositionrevisions" };
/** Definitions of composite resources. */
export const DEFINITIONS: ResourceKind = {
  ...GROUP,
  kind: "CompositeResourceDefinition",
  plural: "compositeresourcedefinitions",
};
