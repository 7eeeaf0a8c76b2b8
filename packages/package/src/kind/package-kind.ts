/** Crossplane's kinds of packages. */
export type PackageKind = "Configuration" | "Function" | "Provider";

/** The API group of the metadata in a package. */
export const META_GROUP = "meta.pkg.crossplane.io";

/** The API group of installed packages. */
export const PACKAGE_GROUP = "pkg.crossplane.io";

/**
 * Versions of each kind's metadata. Functions: v1alpha1 is of the design document "Composition Functions"; releases
 * have v1beta1 and v1.
 */
export const META_VERSIONS: Readonly<Record<PackageKind, readonly string[]>> = {
  Configuration: ["v1", "v1alpha1"],
  Function: ["v1", "v1beta1", "v1alpha1"],
  Provider: ["v1", "v1alpha1"],
};

export const PACKAGE_KINDS: readonly PackageKind[] = ["Configuration", "Function", "Provider"];

/** The kind of package that the value names; undefined for another value. */
export function packageKindOf(value: unknown): PackageKind | undefined {
  return PACKAGE_KINDS.find((kind) => kind === value);
}

const CRDS = [
  "CustomResourceDefinition.apiextensions.k8s.io/v1",
  "CustomResourceDefinition.apiextensions.k8s.io/v1beta1",
];

/**
 * Allowed kinds besides the metadata (Crossplane xpkg specification, "package.yaml Contents", and additions of
 * Crossplane 2).
 */
export const CONTENTS: Readonly<Record<PackageKind, readonly string[]>> = {
  Configuration: [
    "CompositeResourceDefinition.apiextensions.crossplane.io/v1",
    "CompositeResourceDefinition.apiextensions.crossplane.io/v2",
    "Composition.apiextensions.crossplane.io/v1",
    "CronOperation.ops.crossplane.io/v1alpha1",
    "ManagedResourceActivationPolicy.apiextensions.crossplane.io/v1alpha1",
    "Operation.ops.crossplane.io/v1alpha1",
    "WatchOperation.ops.crossplane.io/v1alpha1",
  ],
  // For the schema of a function's input.
  Function: CRDS,
  Provider: [
    ...CRDS,
    "ManagedResourceDefinition.apiextensions.crossplane.io/v1alpha1",
    "MutatingWebhookConfiguration.admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration.admissionregistration.k8s.io/v1",
  ],
};
