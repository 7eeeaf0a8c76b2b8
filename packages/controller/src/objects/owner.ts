import { isObject, type JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";

/** The controller of an object according to its owner references (Kubernetes, "Owners and Dependents"). */
export interface ControllerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** The owner references of an object. Skips values of other types. */
export function ownerReferencesOf({ metadata }: LiveObject): JsonObject[] {
  const references = metadata["ownerReferences"];
  return Array.isArray(references) ? references.filter(isObject) : [];
}

/** The owner reference with `controller: true`; undefined if it is missing or incomplete. */
export function controllerOf(object: LiveObject): ControllerReference | undefined {
  for (const reference of ownerReferencesOf(object)) {
    if (reference["controller"] !== true) continue;
    const { apiVersion, kind, name, uid } = reference;
    if (
      typeof apiVersion === "string" &&
      typeof kind === "string" &&
      typeof name === "string" &&
      typeof uid === "string"
    )
      return { apiVersion, kind, name, uid };
  }
  return undefined;
}

export function isControlledBy(object: LiveObject, owner: LiveObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

/** The owner reference that makes an object the controller of another. */
export function controllerReferenceTo({ apiVersion, kind, metadata: { name, uid } }: LiveObject): JsonObject {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Whether the API server has begun to delete an object. */
export function isBeingDeleted({ metadata }: LiveObject): boolean {
  return metadata["deletionTimestamp"] !== undefined;
}
