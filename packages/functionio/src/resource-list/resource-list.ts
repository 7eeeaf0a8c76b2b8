import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { Result, Severity } from "../function-io/functionio.ts";

/** The `kind` of all forms. */
export const RESOURCE_LIST_KIND = "ResourceList";

/** The `apiVersion` that a function of each form receives. A KRM function does not know Crossplane's group. */
export const RESOURCE_LIST_API_VERSIONS = {
  ResourceList: "fn.apiextensions.crossplane.io/v1alpha1",
  KRM: "config.kubernetes.io/v1",
} as const;

/** The kind of the list: Crossplane's own version, or that of the KRM functions specification. */
export type ResourceListForm = keyof typeof RESOURCE_LIST_API_VERSIONS;

/** A function may return any of these, also a version that it did not receive. */
export const ACCEPTED_API_VERSIONS: readonly string[] = [
  ...Object.values(RESOURCE_LIST_API_VERSIONS),
  "fn.apiextensions.crossplane.io/v1",
];

/** The annotation that says whether an item is the XR or a composed resource. */
export const TYPE_ANNOTATION = "fn.apiextensions.crossplane.io/type";
/** The annotation with the entry name of a composed resource. */
export const NAME_ANNOTATION = "fn.apiextensions.crossplane.io/name";

/** The values of {@link TYPE_ANNOTATION}. */
export const COMPOSITE = "CompositeResource";
export const COMPOSED = "ComposedResource";

/**
 * The input and output of a function in the form of the KRM functions specification. Its annotations are those of an
 * early draft of Crossplane's design "Composition Functions".
 */
export type ResourceList = JsonObject & {
  apiVersion: string;
  kind: typeof RESOURCE_LIST_KIND;
  /** The function's configuration from its Composition. */
  functionConfig?: JsonObject;
  /** The XR, then the composed resources. {@link TYPE_ANNOTATION} tells them apart. */
  items: KubernetesObject[];
  results?: Result[];
};

/** The words of both specifications, which differ in case. */
const SEVERITIES: ReadonlyMap<string, Severity> = new Map([
  ["error", "Fatal"],
  ["fatal", "Fatal"],
  ["warning", "Warning"],
  ["info", "Normal"],
  ["normal", "Normal"],
]);

/** The severity that a result of a ResourceList has in a FunctionIO. An unknown word stays. */
export function severityIn(severity: string): string {
  return SEVERITIES.get(severity.toLowerCase()) ?? severity;
}

/** Whether a result of this severity ends the run. */
export function isFatalSeverity(severity: string): boolean {
  return severityIn(severity) === "Fatal";
}
