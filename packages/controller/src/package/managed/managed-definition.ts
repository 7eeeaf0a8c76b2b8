import { type JsonObject, type KubernetesObject, objectAt, textAt } from "@xfn/json";
import { CRDS, MANAGED_DEFINITIONS, typeMeta } from "../../objects/kinds.ts";
import { LABEL_MANAGED } from "../../objects/labels.ts";

/** The kinds of a provider's settings: a provider needs their CRDs even if no managed resource is active. */
const SETTINGS = /^(Cluster)?ProviderConfig(Usage)?$/;
const SAFE_START = "safestart";

/** Whether a package declares that its provider works while some of its kinds are not served. */
export function startsSafely(capabilities: readonly string[]): boolean {
  return capabilities.some((one) => one.replaceAll(/[^a-zA-Z0-9]/g, "").toLowerCase() === SAFE_START);
}

/** Whether an object is a ManagedResourceDefinition. */
export function isManagedDefinition({ kind, apiVersion }: JsonObject): boolean {
  return kind === MANAGED_DEFINITIONS.kind && apiVersion === typeMeta(MANAGED_DEFINITIONS).apiVersion;
}

/**
 * The objects of a Provider's package, with a ManagedResourceDefinition for each CRD of managed resources, as in
 * Crossplane. It is active, unless the provider can start without its kinds.
 */
export function withManagedDefinitions(objects: readonly JsonObject[], capabilities: readonly string[]): JsonObject[] {
  const state = startsSafely(capabilities) ? {} : { state: "Active" };
  const crd = typeMeta(CRDS);
  return objects.map((object) => {
    const isManaged =
      object["kind"] === crd.kind &&
      object["apiVersion"] === crd.apiVersion &&
      !SETTINGS.test(textAt(object, "spec", "names", "kind") ?? "");
    if (!isManaged) return object;
    return { ...object, ...typeMeta(MANAGED_DEFINITIONS), spec: { ...objectAt(object, "spec"), ...state } };
  });
}

/** The CRD of a ManagedResourceDefinition, without owners. */
export function crdOf(definition: KubernetesObject): KubernetesObject {
  const { state: _, connectionDetails: __, ...spec } = objectAt(definition, "spec");
  const { name = "" } = definition.metadata ?? {};
  return { ...typeMeta(CRDS), metadata: { name, labels: { [LABEL_MANAGED]: "true" } }, spec };
}
