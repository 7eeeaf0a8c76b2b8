import type { LiveObject } from "@xfn/kubernetes";
import { isUsage } from "../../kinds/usages.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { FINALIZER_COMPOSITE, finalizersOf } from "../../objects/finalizers.ts";
import { isBeingDeleted, isControlledBy, ownerReferencesOf } from "../../objects/owner.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import type { Plan, Stage } from "../../plan/plan.ts";
import type { ActorName } from "../state/composite-actors.ts";

/** How Kubernetes deletes the dependents of an object ("Garbage Collection", cascading deletion). */
export type Propagation = "Background" | "Foreground";

/** The deletion of composed resources. */
export interface DeletionPlan extends Plan<ActorName> {
  readonly propagation: Propagation;
  /** Objects whose deletion has already begun. */
  readonly deleting: readonly LiveObject[];
  /** Objects that the XR does not control. They are not deleted. */
  readonly retained: readonly LiveObject[];
}

/**
 * Plans the deletion of composed resources. Each deletion requires the object as observed, so that only objects that
 * the XR controls are deleted.
 */
export function planDeletion(
  xr: LiveObject,
  objects: readonly LiveObject[],
  propagation: Propagation = "Background",
): DeletionPlan {
  const deleting = objects.filter(isBeingDeleted);
  const rest = objects.filter((object) => !isBeingDeleted(object));
  const present = new Set<unknown>(objects.map(({ metadata }) => metadata.uid));
  const actions = rest
    .filter((object) => isControlledBy(object, xr) && !(isUsage(object) && hasOwnerOf(object, present)))
    .map((object) => deletionOf(object, "composition", propagation));
  return {
    stages: [{ name: "delete", actions, onFailure: "collect" }],
    propagation,
    deleting,
    retained: rest.filter((object) => !isControlledBy(object, xr)),
  };
}

/** Whether the object that uses another still exists: its usage is deleted after it. */
function hasOwnerOf(usage: LiveObject, present: ReadonlySet<unknown>): boolean {
  return ownerReferencesOf(usage).some(({ uid, controller }) => controller !== true && present.has(uid));
}

/**
 * Plans the end of an XR: the deletion of its connection secret, and the removal of its finalizer. The garbage
 * collector cannot delete the Secret once a definition has removed the XR's kind, because it no longer finds the owner.
 *
 * @param secret read live; undefined if it does not exist
 * @param keepsFinalizer whether composed resources remain that another reconcile must delete
 */
export function planRelease(
  xr: LiveObject,
  { as = "xr", secret, keepsFinalizer = false }: ReleaseOptions,
): Plan<ActorName> {
  const isOwnSecret = secret !== undefined && isControlledBy(secret, xr);
  const stages: Stage<ActorName>[] = [
    { name: "secret", actions: isOwnSecret ? [deletionOf(secret, as)] : [], onFailure: "stop" },
    { name: "finalizer", actions: keepsFinalizer ? [] : [releaseOf(xr, as)], onFailure: "stop" },
  ];
  return { stages };
}

interface ReleaseOptions {
  /** Default: the actor of the XR. */
  readonly as?: ActorName | undefined;
  readonly secret?: LiveObject | undefined;
  readonly keepsFinalizer?: boolean | undefined;
}

function deletionOf(object: LiveObject, as: ActorName, propagation?: Propagation): Action<ActorName> {
  const on = referenceTo(object);
  const why = "the XR controls it, and no longer desires it";
  return { do: "delete", as, on, manager: FIELD_MANAGERS.xr, why, seen: object, guard: "version", propagation };
}

function releaseOf(xr: LiveObject, as: ActorName): Action<ActorName> {
  const finalizers = finalizersOf(xr).filter((one) => one !== FINALIZER_COMPOSITE);
  return {
    do: "patch",
    as,
    on: referenceTo(xr),
    manager: FIELD_MANAGERS.xr,
    why: "everything that it composed is deleted",
    body: { metadata: { finalizers } },
    seen: xr,
    guard: "version",
  };
}
