import { type JsonObject, objectsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { groupKind } from "./kinds.ts";

/** The controller of an object according to its owner references (Kubernetes, "Owners and Dependents"). */
export interface ControllerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** The owner references of an object. Skips values of other types. */
export function ownerReferencesOf({ metadata }: LiveObject): JsonObject[] {
  return objectsAt(metadata, "ownerReferences");
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

/**
 * Whether the controller of an object is an earlier object with this owner's name, such as the one in a backup. It no
 * longer exists, because this owner has its name.
 *
 * @param owner a live object
 */
export function isOfPredecessor(object: LiveObject, owner: LiveObject): boolean {
  const controller = controllerOf(object);
  if (controller === undefined || controller.uid === owner.metadata.uid) return false;
  const { name, namespace } = owner.metadata;
  return (
    controller.name === name &&
    groupKind(controller.apiVersion, controller.kind) === groupKind(owner.apiVersion, owner.kind) &&
    // The reference of a namespaced owner is valid in its own namespace only.
    (namespace === undefined || namespace === object.metadata.namespace)
  );
}

/** Whether an object has no living controller other than this owner, as far as its owner references show. */
export function isControllableBy(object: LiveObject, owner: LiveObject): boolean {
  return controllerOf(object) === undefined || isControlledBy(object, owner) || isOfPredecessor(object, owner);
}

/** The owner references of an object without the one to its owner's predecessor. */
export function withoutPredecessor(object: LiveObject, owner: LiveObject): JsonObject[] {
  const isFormer = isOfPredecessor(object, owner);
  return ownerReferencesOf(object).filter(({ controller }) => !isFormer || controller !== true);
}

/** The owner reference that makes an object the controller of another. */
export function controllerReferenceTo({ apiVersion, kind, metadata: { name, uid } }: LiveObject): JsonObject {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Whether the API server has begun to delete an object. */
export function isBeingDeleted({ metadata }: LiveObject): boolean {
  return metadata["deletionTimestamp"] !== undefined;
}
