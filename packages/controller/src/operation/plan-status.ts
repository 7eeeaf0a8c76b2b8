import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, withConditions } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceTo } from "../objects/references.ts";
import { changedFields } from "../package/plan-status.ts";
import type { Guard } from "../plan/action.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";

/** A part of the status of an Operation, CronOperation or WatchOperation. */
export interface StatusPart {
  readonly conditions: readonly Condition[];
  readonly fields: JsonObject;
}

/** Plans a status, as far as it differs. @param now milliseconds since the epoch */
export function planStatus(
  object: LiveObject,
  { conditions, fields }: StatusPart,
  now: number,
  guard: Guard = "uid",
): Plan {
  const changed = withConditions(object, conditions, now);
  const status = { ...changedFields(object, fields), ...(changed && { conditions: changed }) };
  if (Object.keys(status).length === 0) return { stages: [] };
  const why = "its status changed";
  const body = { status };
  const on = referenceTo(object);
  return planInOrder("status", [
    { as: "own", on, manager: FIELD_MANAGERS.operation, part: "status", why, do: "patch", body, seen: object, guard },
  ]);
}

export const SYNCED: Condition = { type: "Synced", status: "True", reason: "ReconcileSuccess" };
export const PAUSED: Condition = { type: "Synced", status: "False", reason: "ReconcilePaused" };
