/** On the CRDs of definitions: the controller watches these and not the thousands that a cluster may have. */
export const LABEL_DEFINED = "apiextensions.crossplane.io/defined";
export const LABEL_COMPOSITION_NAME = "crossplane.io/composition-name";
export const LABEL_COMPOSITION_HASH = "crossplane.io/composition-hash";
/** `"true"`: the object is not reconciled. */
export const ANNOTATION_PAUSED = "crossplane.io/paused";
export const ANNOTATION_EXTERNAL_NAME = "crossplane.io/external-name";

/** A label selector in the form of the API server: `a=b,c=d`. */
export function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
