import { type KubernetesObject, listAt } from "@xfn/json";

// Finalizers, with the names that Crossplane v1.13 uses.
export const FINALIZER_COMPOSITE = "composite.apiextensions.crossplane.io";
export const FINALIZER_CLAIM = "finalizer.apiextensions.crossplane.io";
/** On a definition that offers claims. */
export const FINALIZER_OFFERED = "offered.apiextensions.crossplane.io";
/** On every definition. */
export const FINALIZER_DEFINED = "defined.apiextensions.crossplane.io";
/** On a Lock with packages. Only Crossplane adds it. */
export const FINALIZER_LOCK = "lock.pkg.crossplane.io";
export const FINALIZER_WATCH_OPERATION = "watchoperation.ops.crossplane.io";
export const FINALIZER_USAGE = "usage.apiextensions.crossplane.io";

// Kubernetes records the deletion policy of an object as a finalizer ("Garbage Collection", cascading deletion).
export const FINALIZER_FOREGROUND = "foregroundDeletion";
export const FINALIZER_ORPHAN = "orphan";

/** `metadata.finalizers` of an object. */
export function finalizersOf({ metadata }: KubernetesObject): string[] {
  return listAt(metadata, "finalizers").filter((one) => typeof one === "string");
}
