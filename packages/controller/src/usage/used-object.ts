import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { USAGES, type Usage, type UsageResource } from "../kinds/usages.ts";
import { objectKey } from "../objects/references.ts";

/** On objects in use: the API server asks the webhook only about the deletion of these. */
export const LABEL_IN_USE = "crossplane.io/in-use";
/** On an object in use: the propagation policy of a deletion that was denied. */
export const ANNOTATION_ATTEMPT = "usage.crossplane.io/deletion-attempt-with-policy";

/** The spec of a usage. */
export function specOf(usage: LiveObject): Usage["spec"] {
  return USAGES.of(usage).spec;
}

/** The reference to an object of a usage; undefined until its name is known. */
export function referenceOfResource(usage: LiveObject, resource: UsageResource): ObjectReference | undefined {
  const { apiVersion, kind, resourceRef, resourceSelector } = resource;
  const { name } = resourceRef;
  if (apiVersion === undefined || kind === undefined || name === undefined) return undefined;
  const namespace = resourceRef.namespace ?? resourceSelector.namespace ?? usage.metadata.namespace;
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}

/** The key of the object that a usage protects; none until its name is known. */
export function usedKeys(usage: LiveObject): string[] {
  const used = referenceOfResource(usage, specOf(usage).of);
  return used === undefined ? [] : [objectKey(used)];
}

/** A usage in words: the object that uses another, or the reason. Empty if it has neither. */
export function causeOf(usage: LiveObject): string {
  const { by, reason } = specOf(usage);
  const using = referenceOfResource(usage, by);
  if (using !== undefined) return `by ${using.kind}/${using.name}`;
  return reason === undefined ? "" : `with reason: ${JSON.stringify(reason)}`;
}
