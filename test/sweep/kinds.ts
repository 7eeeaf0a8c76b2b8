import type { ResourceKind } from "@xfn/kubernetes";

/** The group of the sweep's composites. */
export const GROUP = "sweep.example.org";
/** The namespace of all namespaced objects. */
export const NAMESPACE = "sweep";
/** The service account in this namespace that may compose ConfigMaps. */
export const COMPOSER = "composer";

const apiextensions = { group: "apiextensions.crossplane.io", version: "v1", namespaced: false };
const sweep = { group: GROUP, version: "v1" };

export const DEFINITIONS: ResourceKind = {
  ...apiextensions,
  kind: "CompositeResourceDefinition",
  plural: "compositeresourcedefinitions",
};
const resourceComposition = { ...apiextensions, version: "v1alpha1" };
export const INFRASTRUCTURE: ResourceKind = {
  ...resourceComposition,
  kind: "InfrastructureDefinition",
  plural: "infrastructuredefinitions",
};
export const PUBLICATIONS: ResourceKind = {
  ...resourceComposition,
  kind: "InfrastructurePublication",
  plural: "infrastructurepublications",
};
export const MANAGED_DEFINITIONS: ResourceKind = {
  ...apiextensions,
  version: "v1alpha1",
  kind: "ManagedResourceDefinition",
  plural: "managedresourcedefinitions",
};
export const ACTIVATION_POLICIES: ResourceKind = {
  ...apiextensions,
  version: "v1alpha1",
  kind: "ManagedResourceActivationPolicy",
  plural: "managedresourceactivationpolicies",
};
export const COMPOSITIONS: ResourceKind = { ...apiextensions, kind: "Composition", plural: "compositions" };
export const REVISIONS: ResourceKind = {
  ...apiextensions,
  kind: "CompositionRevision",
  plural: "compositionrevisions",
};
export const XTHINGS: ResourceKind = { ...sweep, kind: "XThing", plural: "xthings", namespaced: false };
export const THINGS: ResourceKind = { ...sweep, kind: "Thing", plural: "things", namespaced: true };
export const XGROUPS: ResourceKind = { ...sweep, kind: "XGroup", plural: "xgroups", namespaced: false };
/** Namespaced XRs, with the fields of Crossplane 2. */
export const APPS: ResourceKind = { ...sweep, kind: "App", plural: "apps", namespaced: true };
/** The same, composed with the rights of a service account. */
export const GUARDS: ResourceKind = { ...sweep, kind: "Guard", plural: "guards", namespaced: true };
const packages = { group: "pkg.crossplane.io", version: "v1", namespaced: false };
export const FUNCTIONS: ResourceKind = { ...packages, kind: "Function", plural: "functions" };
export const FUNCTION_REVISIONS: ResourceKind = { ...packages, kind: "FunctionRevision", plural: "functionrevisions" };
export const FUNCTION_RUNTIMES: ResourceKind = {
  ...packages,
  version: "v1alpha1",
  kind: "FunctionRuntime",
  plural: "functionruntimes",
};
export const CONFIGURATIONS: ResourceKind = { ...packages, kind: "Configuration", plural: "configurations" };
export const CONFIGURATION_REVISIONS: ResourceKind = {
  ...packages,
  kind: "ConfigurationRevision",
  plural: "configurationrevisions",
};
export const PROVIDERS: ResourceKind = { ...packages, kind: "Provider", plural: "providers" };
export const PROVIDER_REVISIONS: ResourceKind = { ...packages, kind: "ProviderRevision", plural: "providerrevisions" };
export const PROVIDER_RUNTIMES: ResourceKind = {
  ...packages,
  version: "v1alpha1",
  kind: "ProviderRuntime",
  plural: "providerruntimes",
};
export const IMAGE_CONFIGS: ResourceKind = {
  ...packages,
  version: "v1beta1",
  kind: "ImageConfig",
  plural: "imageconfigs",
};
export const LOCKS: ResourceKind = { ...packages, version: "v1beta1", kind: "Lock", plural: "locks" };
export const OPERATIONS: ResourceKind = {
  group: "ops.crossplane.io",
  version: "v1alpha1",
  kind: "Operation",
  plural: "operations",
  namespaced: false,
};
export const NOPS: ResourceKind = {
  group: "nop.crossplane.io",
  version: "v1alpha1",
  kind: "NopResource",
  plural: "nopresources",
  namespaced: false,
};
export const CONFIG_MAPS: ResourceKind = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};
export const SECRETS: ResourceKind = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };
/** A Usage protects an object of a namespace. */
export const USAGES: ResourceKind = {
  group: "protection.crossplane.io",
  version: "v1beta1",
  kind: "Usage",
  plural: "usages",
  namespaced: true,
};
export const CRDS: ResourceKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

/** The kinds of all objects that a scenario can create. */
export const WATCHED: readonly ResourceKind[] = [
  DEFINITIONS,
  INFRASTRUCTURE,
  PUBLICATIONS,
  CRDS,
  MANAGED_DEFINITIONS,
  ACTIVATION_POLICIES,
  COMPOSITIONS,
  REVISIONS,
  XTHINGS,
  THINGS,
  XGROUPS,
  APPS,
  GUARDS,
  FUNCTIONS,
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  CONFIGURATIONS,
  CONFIGURATION_REVISIONS,
  PROVIDERS,
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  OPERATIONS,
  NOPS,
  CONFIG_MAPS,
  SECRETS,
  USAGES,
];

export function apiVersionOf({ group, version }: ResourceKind): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Whether the sweep watches a kind. */
export function isWatched(apiVersion: string | undefined, kind: string | undefined): boolean {
  return WATCHED.some((watched) => apiVersionOf(watched) === apiVersion && watched.kind === kind);
}
