import type { Reconcile } from "@xfn/kubernetes";
import type { PolledReconcile } from "../objects/requeue-after.ts";
import { activationReconciler } from "./reconcile-activation.ts";
import { type ManagedPort, managedReconciler } from "./reconcile-managed.ts";

/** The reconcilers of ManagedResourceDefinitions, and of the policies that activate them. */
export interface ManagedReconcilers {
  readonly definition: PolledReconcile;
  readonly policy: Reconcile;
}

export function managedReconcilers(port: ManagedPort): ManagedReconcilers {
  return { definition: managedReconciler(port), policy: activationReconciler(port) };
}
