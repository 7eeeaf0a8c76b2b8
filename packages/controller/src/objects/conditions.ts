import { type JsonObject, objectAt, objectsAt } from "@xfn/json";
import { shortened } from "./shortened.ts";

/** A condition without its time and generation, which {@link withConditions} adds. */
export interface Condition {
  /** For example `Ready` or `Synced`. */
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message?: string | undefined;
}

/** The reason of `Synced` after any failure, as in Crossplane. */
export const RECONCILE_ERROR = "ReconcileError";

/** Kubernetes allows 32 KiB; longer messages make `kubectl describe` unreadable. */
const MAX_MESSAGE_LENGTH = 4096;

/**
 * Sets conditions of an object, and leaves conditions of other types in their order. The transition time changes only
 * with the status (Kubernetes API conventions, "Typical status properties"). `observedGeneration` is the generation of
 * the object, so that clients such as kstatus recognize a condition that is older than the spec.
 *
 * @param object the object as last read
 * @param now milliseconds since the epoch
 * @returns undefined if nothing changes
 */
export function withConditions(
  object: JsonObject,
  wanted: readonly Condition[],
  now: number,
): JsonObject[] | undefined {
  const conditions = objectsAt(object, "status", "conditions");
  const generation = Number(objectAt(object, "metadata")["generation"]);
  let changed = false;
  for (const condition of wanted) {
    const index = conditions.findIndex((one) => one["type"] === condition.type);
    const before = conditions[index];
    const after = printed(condition, before, now, generation);
    if (before !== undefined && isSame(before, after)) continue;
    changed = true;
    if (index === -1) conditions.push(after);
    else conditions[index] = after;
  }
  return changed ? conditions : undefined;
}

/** A condition of an object, by its type. */
export function conditionOf(object: JsonObject, type: string): JsonObject | undefined {
  return objectsAt(object, "status", "conditions").find((condition) => condition["type"] === type);
}

/** Parses an entry of a list of conditions, without its time; undefined if it is not a valid condition. */
export function conditionIn({ type, status, reason, message }: JsonObject): Condition | undefined {
  if (typeof type !== "string" || typeof reason !== "string") return undefined;
  if (status !== "True" && status !== "False" && status !== "Unknown") return undefined;
  return { type, status, reason, ...(typeof message === "string" && { message }) };
}

/** Whether a condition of an object has the status `True`. */
export function isTrue(object: JsonObject, type: string): boolean {
  return conditionOf(object, type)?.["status"] === "True";
}

/** Whether an object has exactly this condition, so that an event about it would be a duplicate. */
export function hasCondition(object: JsonObject, { type, status, reason, message = "" }: Condition): boolean {
  const current = conditionOf(object, type);
  const isSameText = (current?.["message"] ?? "") === shortened(message, MAX_MESSAGE_LENGTH);
  return current?.["status"] === status && current["reason"] === reason && isSameText;
}

/** A time in the format of `metav1.Time`: in seconds. */
export function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}

function printed(condition: Condition, before: JsonObject | undefined, now: number, generation: number): JsonObject {
  const { type, status, reason, message = "" } = condition;
  const since = before?.["status"] === status ? before["lastTransitionTime"] : undefined;
  const text = shortened(message, MAX_MESSAGE_LENGTH);
  return {
    type,
    status,
    ...(Number.isSafeInteger(generation) && { observedGeneration: generation }),
    lastTransitionTime: since ?? timestamp(now),
    reason,
    ...(text !== "" && { message: text }),
  };
}

function isSame(before: JsonObject, after: JsonObject): boolean {
  const isSameText = ["status", "reason", "message"].every((field) => (before[field] ?? "") === (after[field] ?? ""));
  return isSameText && Number(before["observedGeneration"] ?? 0) === Number(after["observedGeneration"] ?? 0);
}
