import { someOf } from "@xfn/errors";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import type { StepResult } from "../outcome/step-result.ts";

/** A Kubernetes condition. Its time is that of `crossplane render`, so that the output is reproducible. */
export interface Condition extends JsonObject {
  type: string;
  status: string;
  reason: string;
  lastTransitionTime: string;
}

/** The message of `Synced` after a fatal result. */
export function composeError({ step, message }: StepResult): string {
  return `cannot compose resources: pipeline step ${JSON.stringify(step)} returned a fatal result: ${message}`;
}

/** The fixed time of `crossplane render`. */
export const CONDITION_TIME = "2024-01-01T00:00:00Z";

/** Crossplane names this many unready resources, and counts the others. */
const MAX_NAMED = 3;

/** `Synced`: whether the resources could be composed. */
export function synced(failure?: string): Condition {
  const base = { type: "Synced", lastTransitionTime: CONDITION_TIME };
  return failure === undefined
    ? { ...base, status: "True", reason: "ReconcileSuccess" }
    : { ...base, status: "False", reason: "ReconcileError", message: failure };
}

/**
 * `Ready`: whether all composed resources are ready.
 *
 * @param isReady the readiness that a function reports instead
 */
export function ready(unready: readonly string[], isReady: boolean = unready.length === 0): Condition {
  const base = { type: "Ready", lastTransitionTime: CONDITION_TIME };
  if (isReady) return { ...base, status: "True", reason: "Available" };
  const message = unready.length === 0 ? {} : { message: `Unready resources: ${unreadyNames(unready)}` };
  return { ...base, status: "False", reason: "Creating", ...message };
}

function unreadyNames(names: readonly string[]): string {
  const sorted = names.toSorted();
  if (sorted.length === MAX_NAMED) return `${sorted.slice(0, -1).join(", ")}, and ${sorted.at(-1)}`;
  return someOf(sorted, MAX_NAMED);
}

/** Sets conditions by type. An existing condition of the type is replaced in its position. */
export function withConditions<T extends JsonObject>(object: T, conditions: readonly Condition[]): T {
  const status = isObject(object["status"]) ? object["status"] : {};
  const list: JsonValue[] = Array.isArray(status["conditions"]) ? [...status["conditions"]] : [];
  for (const condition of conditions) {
    const index = list.findIndex((one) => isObject(one) && one["type"] === condition.type);
    if (index === -1) list.push(condition);
    else list[index] = condition;
  }
  return withFixedTimes({ ...object, status: { ...status, conditions: list } });
}

/** Sets the fixed time in all conditions. */
export function withFixedTimes<T extends JsonObject>(object: T): T {
  const { status } = object;
  if (!isObject(status) || !Array.isArray(status["conditions"])) return object;
  const conditions = status["conditions"].map((one) =>
    isObject(one) && typeof one["type"] === "string" ? { ...one, lastTransitionTime: CONDITION_TIME } : one,
  );
  return { ...object, status: { ...status, conditions } };
}
