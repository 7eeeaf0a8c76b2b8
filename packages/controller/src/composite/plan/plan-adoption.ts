import type { LiveObject } from "@xfn/kubernetes";
import { composedManager, FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { withoutPredecessor } from "../../objects/owner.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import { type Plan, planInOrder } from "../../plan/plan.ts";
import type { ActorName } from "../state/composite-actors.ts";

/**
 * Plans to remove the predecessor of an XR from the owners of composed resources, so that the XR can adopt them. The
 * garbage collector would delete them, because their owner does not exist. The XR must exist: a cached one may itself
 * be the predecessor of another.
 */
export function planAdoption(xr: LiveObject, former: readonly LiveObject[]): Plan<ActorName> {
  const common = { as: "xr", on: referenceTo(xr), manager: FIELD_MANAGERS.xr, seen: xr } as const;
  const confirm = { ...common, do: "confirm", why: "resources of its predecessor are adopted" } as const;
  const actions = former.map((object) => dropPredecessor(xr, object, "composition", composedManager(xr)));
  return planInOrder("adoption", [confirm, ...actions]);
}

/** Removes the predecessor of an XR from the owners of an object: the server refuses a second controller. */
export function dropPredecessor(xr: LiveObject, object: LiveObject, as: ActorName, manager: string): Action<ActorName> {
  const body = { metadata: { ownerReferences: withoutPredecessor(object, xr) } };
  const why = "its controller no longer exists";
  return { do: "patch", as, on: referenceTo(object), manager, why, body, seen: object, guard: "version" };
}
