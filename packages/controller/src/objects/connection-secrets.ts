import { type Layout, publishesDetails } from "@xfn/composition";
import { isObject, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";

/** The `type` of connection secrets (Crossplane v1.13). */
export const SECRET_TYPE_CONNECTION = "connection.crossplane.io/v1alpha1";

/** The name and the namespace of a Secret. */
export interface SecretReference {
  readonly name: string;
  readonly namespace: string;
}

/**
 * The Secret in which an XR publishes its connection details: `spec.writeConnectionSecretToRef`. Only XRs of Crossplane
 * 1 have one.
 */
export function secretReferenceOf(xr: LiveObject, layout: Layout): SecretReference | undefined {
  if (!publishesDetails(layout)) return undefined;
  const name = textAt(xr, "spec", "writeConnectionSecretToRef", "name");
  const namespace = textAt(xr, "spec", "writeConnectionSecretToRef", "namespace");
  return name === undefined || namespace === undefined ? undefined : { name, namespace };
}

/** The warning for an XR or claim that requests an external secret store; undefined if it does not. */
export function unsupportedPublishing({ spec }: LiveObject, layout: Layout): string | undefined {
  if (!publishesDetails(layout) || !isObject(spec) || spec["publishConnectionDetailsTo"] === undefined)
    return undefined;
  return (
    "spec.publishConnectionDetailsTo has no effect: external secret stores are not supported; " +
    "use spec.writeConnectionSecretToRef"
  );
}
