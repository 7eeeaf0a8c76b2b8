import { type JsonObject, objectAt, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, hasCondition, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceTo } from "../objects/references.ts";

/**
 * Sets conditions and fields of a status if they differ. Emits an event for each condition that is no longer true.
 *
 * @param fields null removes a field
 * @returns the object as the server stored it
 */
export async function setPackageStatus(
  context: Context,
  object: LiveObject,
  conditions: readonly Condition[],
  fields: JsonObject,
  signal: AbortSignal,
): Promise<LiveObject> {
  const { client, events, now } = context;
  const changed = withConditions(object, conditions, now());
  const status = { ...changedFields(object, fields), ...(changed && { conditions: changed }) };
  if (Object.keys(status).length === 0) return object;
  for (const condition of conditions) {
    const { type, status: value, reason, message } = condition;
    // Ready repeats another condition, which has the event.
    if (type === "Ready" || value !== "False" || message === undefined || hasCondition(object, condition)) continue;
    events.record(object, { type: "Warning", reason, message });
  }
  const { resourceVersion } = object.metadata;
  const options = { subresource: "status", fieldManager: FIELD_MANAGERS.package, signal } as const;
  return client.patch(referenceTo(object), "merge", { metadata: { resourceVersion }, status }, options);
}

/** The fields of a status that differ from an object's. */
export function changedFields(object: LiveObject, fields: JsonObject): JsonObject {
  const status = objectAt(object, "status");
  return Object.fromEntries(Object.entries(fields).filter(([field, value]) => !sameJson(status[field] ?? null, value)));
}
