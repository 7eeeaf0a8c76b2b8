import type { ObjectReference, ResourceKind } from "@xfn/kubernetes";

// The kinds that the controllers know by name. Every other kind comes from a definition or from discovery.

const CROSSPLANE = { group: "apiextensions.crossplane.io", version: "v1", namespaced: false } as const;

/** Compositions, in the version that the API server stores. */
export const COMPOSITIONS: ResourceKind = { ...CROSSPLANE, kind: "Composition", plural: "compositions" };
export const REVISIONS: ResourceKind = { ...CROSSPLANE, kind: "CompositionRevision", plural: "compositionrevisions" };
export const DEFINITIONS: ResourceKind = {
  ...CROSSPLANE,
  kind: "CompositeResourceDefinition",
  plural: "compositeresourcedefinitions",
};
export const CRDS: ResourceKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
export const CLUSTER_ROLES: ResourceKind = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};
export const SECRETS: ResourceKind = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };
export const SERVICE_ACCOUNTS: ResourceKind = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
};

/** `group/version` of a kind; `version` alone for the core group. */
export function apiVersionOf({ group, version }: ResourceKind): string {
  return group === "" ? version : `${group}/${version}`;
}

/** The `apiVersion` and `kind` of a kind's objects. */
export function typeMeta(kind: ResourceKind): { apiVersion: string; kind: string } {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** @param namespace absent for a cluster-scoped kind */
export function referenceOf(kind: ResourceKind, name: string, namespace?: string): ObjectReference {
  return { ...typeMeta(kind), name, ...(namespace !== undefined && { namespace }) };
}

/** `group/Kind`: identifies a kind in any of its versions. The core group is empty. */
export function groupKind(apiVersion: string, kind: string): string {
  const slash = apiVersion.indexOf("/");
  return `${slash === -1 ? "" : apiVersion.slice(0, slash)}/${kind}`;
}
