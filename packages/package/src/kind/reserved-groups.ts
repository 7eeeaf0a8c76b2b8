/** Kubernetes protects these groups, and all below them (https://github.com/kubernetes/enhancements, KEP-1111). */
const OF_KUBERNETES: readonly string[] = ["k8s.io", "kubernetes.io"];

/** The groups of the controller's own kinds, and of Crossplane's other core kinds. */
const OF_CONTROLLER: readonly string[] = [
  "apiextensions.crossplane.io",
  "pkg.crossplane.io",
  "meta.pkg.crossplane.io",
  "ops.crossplane.io",
  "protection.crossplane.io",
];

/**
 * The owner of an API group that no package and no definition may add kinds to: a kind there would take the place of a
 * built-in one, or the rights on it.
 *
 * @returns undefined for all other groups
 */
export function reservedGroupOwner(group: string): "Kubernetes" | "the controller" | undefined {
  const name = group.toLowerCase();
  const isIn = (reserved: string): boolean => name === reserved || name.endsWith(`.${reserved}`);
  if (OF_KUBERNETES.some(isIn)) return "Kubernetes";
  return OF_CONTROLLER.some(isIn) ? "the controller" : undefined;
}
