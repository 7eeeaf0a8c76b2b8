import type { Reconcile } from "@xfn/kubernetes";
import type { ManagedWatches } from "../objects/context.ts";
import type { PolledReconcile } from "../objects/requeue-after.ts";
import { activationReconciler } from "./reconcile-activation.ts";
import { type ManagedPort, managedReconciler } from "./reconcile-managed.ts";
import { protectionReconciler } from "./reconcile-protection.ts";

/** The reconcilers of ManagedResourceDefinitions, and of the policies that activate them. */
export interface ManagedReconcilers {
  readonly definition: PolledReconcile;
  readonly policy: Reconcile;
  /** Protects providers from deletion. Absent: it is disabled. */
  readonly protection?: Reconcile | undefined;
}

/** @param watches the watches on managed resources, if they protect their provider from deletion */
export function managedReconcilers(port: ManagedPort, watches?: ManagedWatches): ManagedReconcilers {
  return {
    definition: managedReconciler(port),
    policy: activationReconciler(port),
    protection: watches && protectionReconciler(port, watches),
  };
}
