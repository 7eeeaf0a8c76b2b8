import type { LiveObject } from "@xfn/kubernetes";
import type { Condition } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceTo } from "../objects/references.ts";
import { changedStatus, type Part } from "../package/plan-status.ts";
import type { Guard } from "../plan/action.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";

/** Plans a status, as far as it differs. @param now milliseconds since the epoch */
export function planStatus(object: LiveObject, part: Part, now: number, guard: Guard = "uid"): Plan {
  const status = changedStatus(object, part, now);
  if (status === undefined) return { stages: [] };
  const why = "its status changed";
  const body = { status };
  const on = referenceTo(object);
  return planInOrder("status", [
    { as: "own", on, manager: FIELD_MANAGERS.operation, part: "status", why, do: "patch", body, seen: object, guard },
  ]);
}

export const SYNCED: Condition = { type: "Synced", status: "True", reason: "ReconcileSuccess" };
export const PAUSED: Condition = { type: "Synced", status: "False", reason: "ReconcilePaused" };
