import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { CONDITION_TIME } from "./conditions.ts";

export interface SetCondition {
  type: string;
  status: string;
  reason: string;
  message?: string | undefined;
  observedGeneration?: number;
}

const FIELDS = ["type", "status", "reason", "message"] as const;

/**
 * The conditions of a status in Crossplane's types: without unknown fields, and with a reason. None if one of
 * them has a field of another type.
 */
export function conditionsOf(status: JsonValue | undefined): JsonObject[] {
  return decoded(status) ?? [];
}

function decoded(status: JsonValue | undefined): JsonObject[] | undefined {
  if (!isObject(status)) return undefined;
  const conditions = (Object.hasOwn(status, "conditions") ? status["conditions"] : undefined) ?? [];
  if (!Array.isArray(conditions) || !conditions.every(isCondition)) return undefined;
  return conditions.map(({ type, status: is, reason, message, lastTransitionTime, observedGeneration }) => ({
    type: type ?? "",
    status: is ?? "",
    lastTransitionTime: lastTransitionTime ?? null,
    reason: reason ?? "",
    ...(message ? { message } : {}),
    ...(observedGeneration ? { observedGeneration } : {}),
  }));
}

function isCondition(value: JsonValue): value is JsonObject {
  if (!isObject(value)) return false;
  const generation = value["observedGeneration"] ?? 0;
  const time = value["lastTransitionTime"] ?? "2024-01-01T00:00:00Z";
  return (
    FIELDS.every((field) => typeof (value[field] ?? "") === "string") &&
    (typeof generation === "number" || typeof generation === "bigint") &&
    typeof time === "string" &&
    !Number.isNaN(Date.parse(time))
  );
}

/** Sets conditions by type. A condition that differs from its predecessor replaces it in its position. */
export function setConditions(conditions: readonly JsonObject[], set: readonly SetCondition[]): JsonObject[] {
  const list = [...conditions];
  for (const { type, status, reason, message, observedGeneration } of set) {
    const condition: JsonObject = {
      type,
      status,
      lastTransitionTime: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
      reason,
      ...(message ? { message } : {}),
      ...(observedGeneration ? { observedGeneration } : {}),
    };
    const index = list.findIndex((one) => one["type"] === type);
    const before = list[index];
    if (before === undefined) list.push(condition);
    else if (!isSame(before, condition)) list[index] = condition;
  }
  return list;
}

/** Compares conditions without their times. Generations are compared only if both conditions have one. */
function isSame(a: JsonObject, b: JsonObject): boolean {
  const [of, is] = [a["observedGeneration"], b["observedGeneration"]];
  if (of !== undefined && is !== undefined && of !== is) return false;
  return FIELDS.every((field) => (a[field] ?? "") === (b[field] ?? ""));
}

/** Gives all conditions the fixed time of `crossplane render`. A status without conditions gets null, as there. */
export function withConditionTimes<T extends JsonObject>(object: T): T {
  const { status } = object;
  const conditions = decoded(status);
  if (!isObject(status) || conditions === undefined) return object;
  const fixed = conditions.map((condition) => ({ ...condition, lastTransitionTime: CONDITION_TIME }));
  const isAbsent = !Array.isArray(status["conditions"]);
  return { ...object, status: { ...status, conditions: isAbsent ? null : fixed } };
}
