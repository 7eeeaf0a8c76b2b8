import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, conditionOf, hasCondition, RECONCILE_ERROR } from "../objects/conditions.ts";
import type { ClaimContext } from "./claim-context.ts";

/**
 * The condition `Synced` of a claim whose fields its composite has. If composing failed, it is false with the
 * composite's cause: authors of claims often cannot read cluster-scoped composites.
 */
export function syncedCondition(composite: LiveObject): Condition {
  const cause = conditionOf(composite, "Synced");
  if (cause?.["status"] !== "False") return { type: "Synced", status: "True", reason: "ReconcileSuccess" };
  const { kind, metadata } = composite;
  const parts = [textAt(cause, "reason"), textAt(cause, "message")];
  const detail = parts.filter((part) => part !== undefined && part !== RECONCILE_ERROR).join(": ");
  const message = `the ${kind} ${metadata.name} is not composed: ${detail}`;
  return { type: "Synced", status: "False", reason: "CompositeNotSynced", message };
}

/** The condition `Ready` of a claim whose composite is not ready, with the reason why the composite waits. */
export function waitingCondition(composite: LiveObject): Condition {
  const { kind, metadata } = composite;
  const cause = textAt(conditionOf(composite, "Ready"), "message");
  const message = `waits for the ${kind} ${metadata.name} to become ready${cause === undefined ? "" : `: ${cause}`}`;
  return { type: "Ready", status: "False", reason: "Waiting", message };
}

/** Emits an event for each condition with a cause that the claim does not have yet. */
export function emitCauses({ claim, events }: ClaimContext, conditions: readonly Condition[]): void {
  for (const condition of conditions) {
    const { type, status, reason, message = "" } = condition;
    if (status === "True" || hasCondition(claim, condition)) continue;
    events.record(claim, { type: type === "Synced" ? "Warning" : "Normal", reason, message });
  }
}
