import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";

/** A condition as a reconcile finds it; when it became so is added by {@link withConditions}. */
export interface Condition {
  /** Such as `Ready` or `Synced`. */
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** One word in camel case. */
  readonly reason: string;
  readonly message?: string | undefined;
}

/** Kubernetes allows 32 KiB; what is longer nobody reads. */
const MAX_MESSAGE_LENGTH = 4096;

/**
 * The conditions of an object with some of them set: those of other types stay, in their order. The time of a condition whose
 * status stays as it is does too (Kubernetes API conventions, "Typical status properties").
 *
 * @param current `status.conditions` as the server has it
 * @param now milliseconds since the epoch
 * @returns undefined if that changes nothing
 */
export function withConditions(
  current: JsonValue | undefined,
  wanted: readonly Condition[],
  now: number,
): JsonObject[] | undefined {
  const conditions = (Array.isArray(current) ? current : []).filter(isObject);
  let changed = false;
  for (const condition of wanted) {
    const index = conditions.findIndex((one) => one["type"] === condition.type);
    const before = conditions[index];
    const after = printed(condition, before, now);
    if (before !== undefined && isSame(before, after)) continue;
    changed = true;
    if (index === -1) conditions.push(after);
    else conditions[index] = after;
  }
  return changed ? conditions : undefined;
}

/** A condition of an object that the server holds. */
export function conditionOf(object: JsonObject, type: string): JsonObject | undefined {
  const { status } = object;
  const conditions = isObject(status) ? status["conditions"] : undefined;
  if (!Array.isArray(conditions)) return undefined;
  return conditions.filter(isObject).find((condition) => condition["type"] === type);
}

function printed(condition: Condition, before: JsonObject | undefined, now: number): JsonObject {
  const { type, status, reason, message = "" } = condition;
  const since = before?.["status"] === status ? before["lastTransitionTime"] : undefined;
  const text = message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 3)}...`;
  return {
    type,
    status,
    // Seconds, as metav1.Time is printed.
    lastTransitionTime: since ?? `${new Date(now).toISOString().slice(0, 19)}Z`,
    reason,
    ...(text !== "" && { message: text }),
  };
}

function isSame(before: JsonObject, after: JsonObject): boolean {
  return ["status", "reason", "message"].every((field) => (before[field] ?? "") === (after[field] ?? ""));
}
