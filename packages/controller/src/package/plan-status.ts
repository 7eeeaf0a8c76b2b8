import { type JsonObject, objectAt, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, hasCondition, withConditions } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { planInOrder } from "../plan/plan.ts";
import type { Note, NotedPlan } from "./carry-out.ts";

/** A part of a status. */
export interface Part {
  readonly conditions: readonly Condition[];
  /** null removes a field. */
  readonly fields: JsonObject;
}

/**
 * Plans conditions and fields of a status, as far as they differ. Each condition that is no longer true has an event.
 *
 * @param now milliseconds since the epoch
 */
export function planStatus(
  object: LiveObject,
  { conditions, fields }: Part,
  now: number,
  manager: string = FIELD_MANAGERS.package,
): NotedPlan {
  const status = changedStatus(object, { conditions, fields }, now);
  if (status === undefined) return { stages: [], notes: new Map() };
  const warnings = conditions.flatMap((condition): Note[] => {
    const { type, status: value, reason, message } = condition;
    // Ready repeats another condition, which has the event.
    if (type === "Ready" || value !== "False" || message === undefined || hasCondition(object, condition)) return [];
    return [{ type: "Warning", reason, message }];
  });
  const write: Action = {
    as: "own",
    manager,
    on: referenceTo(object),
    part: "status",
    why: "its status changed",
    do: "patch",
    body: { status },
    seen: object,
    guard: "version",
  };
  return { ...planInOrder("status", [write]), notes: new Map([[write, warnings]]) };
}

/** The part of a status that differs from an object's; undefined if nothing does. */
export function changedStatus(object: LiveObject, { conditions, fields }: Part, now: number): JsonObject | undefined {
  const changed = withConditions(object, conditions, now);
  const status = { ...changedFields(object, fields), ...(changed && { conditions: changed }) };
  return Object.keys(status).length === 0 ? undefined : status;
}

/** The fields of a status that differ from an object's. */
export function changedFields(object: LiveObject, fields: JsonObject): JsonObject {
  const status = objectAt(object, "status");
  return Object.fromEntries(Object.entries(fields).filter(([field, value]) => !sameJson(status[field] ?? null, value)));
}
