import { type JsonObject, textAt } from "@xfn/json";
import type { NopSpec } from "./nop-resource.ts";

/** The conditions of a resource at a point in time, and the time until the next change. */
export interface Conditions {
  readonly conditions: JsonObject[];
  readonly changed: boolean;
  readonly ready: boolean;
  /** Milliseconds from now. */
  readonly nextMs: number | undefined;
}

/**
 * @param current the present conditions; an unchanged one keeps its transition time
 * @param createdAt, now - milliseconds since the epoch
 */
export function conditionsAt(
  spec: NopSpec,
  current: readonly JsonObject[],
  createdAt: number,
  now: number,
): Conditions {
  const wanted = new Map([["Synced", { status: "True", reason: "ReconcileSuccess" }]]);
  const waiting: number[] = [];
  for (const { afterMs, type, status, reason } of spec.conditionAfter.toSorted((a, b) => a.afterMs - b.afterMs)) {
    const due = createdAt + afterMs;
    if (due <= now) wanted.set(type, { status, reason: reason ?? (status === "True" ? "Available" : "Unavailable") });
    else waiting.push(due - now);
  }
  let changed = false;
  const conditions = [...wanted].map(([type, { status, reason }]) => {
    const before = current.find((one) => textAt(one, "type") === type);
    if (before !== undefined && before["status"] === status && before["reason"] === reason) return before;
    changed = true;
    const since = before?.["status"] === status ? before["lastTransitionTime"] : undefined;
    return { type, status, lastTransitionTime: since ?? `${new Date(now).toISOString().slice(0, 19)}Z`, reason };
  });
  return {
    conditions,
    changed,
    ready: wanted.get("Ready")?.status === "True",
    nextMs: waiting.toSorted((a, b) => a - b)[0],
  };
}
