import { mergePatch, newObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import {
  type Condition,
  conditionIn,
  conditionOf,
  hasCondition,
  RECONCILE_ERROR,
  timestamp,
  withConditions,
} from "../objects/conditions.ts";
import type { ClaimError } from "./claim-error.ts";
import type { ClaimPort, ObjectEvent, Writes } from "./claim-port.ts";
import { patchOf } from "./plan-claim.ts";

/** Fields of a status that are not copied from the composite. */
const OWN_FIELDS: readonly string[] = ["conditions", "connectionDetails"];

export const AVAILABLE: Condition = { type: "Ready", status: "True", reason: "Available" };

/** The result of a reconcile for the users of a claim. */
export interface ClaimReport {
  readonly conditions: readonly Condition[];
  /** The conditions that are emitted as events too. */
  readonly causes: readonly Condition[];
  /** The composite whose status the claim copies. Absent: only the conditions change. */
  readonly composite?: LiveObject;
  /** Whether this reconcile published connection details. */
  readonly published?: boolean;
}

/** The report on a claim that waits. */
export function waitsFor(message: string, reason = "Waiting"): ClaimReport {
  return { conditions: [{ type: "Ready", status: "False", reason, message }], causes: [] };
}

/** The report on a claim that waits for its connection secret. */
export function waitsForSecret(composite: LiveObject, { code, message }: ClaimError): ClaimReport {
  const refused = notSynced(code, message);
  const waiting = waitsFor("waits for its connection secret");
  return { ...refused, conditions: [...refused.conditions, ...waiting.conditions], composite };
}

/** The report on a claim that is not synchronized. */
export function notSynced(reason: string, message: string): ClaimReport {
  const conditions: Condition[] = [{ type: "Synced", status: "False", reason, message }];
  return { conditions, causes: conditions };
}

/**
 * The report on a claim whose fields its composite has. If composing failed, it has the composite's cause: authors of
 * claims often cannot read cluster-scoped composites.
 *
 * @param published whether a ready composite's connection details were published just now; undefined if it is not ready
 */
export function progressOf(composite: LiveObject, published: boolean | undefined): ClaimReport {
  const title = `the ${composite.kind} ${composite.metadata.name}`;
  const failure = conditionOf(composite, "Synced");
  const parts = [textAt(failure, "reason"), textAt(failure, "message")];
  const detail = parts.filter((part) => part !== undefined && part !== RECONCILE_ERROR).join(": ");
  const message = `${title} is not composed: ${detail}`;
  const synced: Condition =
    textAt(failure, "status") === "False"
      ? { type: "Synced", status: "False", reason: "CompositeNotSynced", message }
      : { type: "Synced", status: "True", reason: "ReconcileSuccess" };
  const cause = textAt(conditionOf(composite, "Ready"), "message");
  const waiting = `waits for ${title} to become ready${cause === undefined ? "" : `: ${cause}`}`;
  const conditions = [synced, ...(published === undefined ? waitsFor(waiting).conditions : [AVAILABLE])];
  return { conditions, causes: conditions, composite, published: published === true };
}

/** The events of a report: one for each cause that the claim does not have yet. */
export function eventsOf(claim: LiveObject, { causes }: ClaimReport): ObjectEvent[] {
  return causes
    .filter((condition) => condition.status !== "True" && !hasCondition(claim, condition))
    .map(({ type, reason, message = "" }) => {
      const isWarning = type === "Synced" && reason !== "ReconcilePaused";
      return { type: isWarning ? "Warning" : "Normal", reason, message };
    });
}

/**
 * Plans to set a claim's conditions, and to copy the composite's status, except conditions and the time when connection
 * details were published. Removes fields that the composite's status lacks.
 */
export function planStatus(
  claim: LiveObject,
  { composite, published, ...report }: ClaimReport,
  shown: ClaimPort["shown"],
  now: number,
): Writes {
  const current = objectAt(claim, "status");
  const conditions = withConditions(claim, [...shownConditions(composite, shown), ...report.conditions], now);
  const wanted = newObject();
  if (composite !== undefined) {
    for (const [key, value] of Object.entries(objectAt(composite, "status")))
      if (!OWN_FIELDS.includes(key)) wanted[key] = value;
    const all = conditions ?? current["conditions"];
    if (all !== undefined) wanted["conditions"] = all;
    const details = published === true ? { lastPublishedTime: timestamp(now) } : current["connectionDetails"];
    if (details !== undefined) wanted["connectionDetails"] = details;
  }
  const status = composite === undefined ? conditions && { conditions } : mergePatch(current, wanted);
  return status === undefined ? [] : [patchOf(claim, "the status or a condition differs", { status }, "status")];
}

/** The composite's conditions that functions also show on the claim. */
function shownConditions(composite: LiveObject | undefined, shown: ClaimPort["shown"]): Condition[] {
  if (composite === undefined) return [];
  return [...(shown.get(composite.metadata.uid) ?? [])].flatMap((type) => {
    return conditionIn(conditionOf(composite, type) ?? {}) ?? [];
  });
}
