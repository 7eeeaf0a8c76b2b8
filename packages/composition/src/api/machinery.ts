import { type JsonObject, type KubernetesObject, objectAt } from "@xfn/json";

/** The place of the fields in an XR's spec that controllers read and write, such as `compositionRef`. */
export interface Layout {
  /** XRs of Crossplane 1 and of `scope: LegacyCluster` have them in `spec`, others in `spec.crossplane`. */
  readonly isLegacy: boolean;
  /** XRs in the legacy layout that publish no connection details, and have no claims. */
  readonly isPrivate?: boolean | undefined;
  /** The field of the spec that names the claim. Default: `claimRef`. */
  readonly claimField?: "requirementRef" | undefined;
}

/** Whether XRs of a layout publish connection details in a Secret. */
export function publishesDetails({ isLegacy, isPrivate = false }: Layout): boolean {
  return isLegacy && !isPrivate;
}

/** The path of these fields in an XR. */
export function machineryPath({ isLegacy }: Layout): readonly string[] {
  return isLegacy ? ["spec"] : ["spec", "crossplane"];
}

/** These fields of an XR. In the legacy layout, the author's fields are among them. */
export function machineryOf(composite: KubernetesObject, { isLegacy }: Layout): JsonObject {
  const spec = objectAt(composite, "spec");
  return isLegacy ? spec : objectAt(spec, "crossplane");
}

/** Returns a copy of a spec with these fields set. Other fields stay. */
export function specWith(spec: JsonObject, fields: JsonObject, { isLegacy }: Layout): JsonObject {
  if (isLegacy) return { ...spec, ...fields };
  return { ...spec, crossplane: { ...objectAt(spec, "crossplane"), ...fields } };
}
