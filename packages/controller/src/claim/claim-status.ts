import type { JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, conditionOf, withConditions } from "../objects/conditions.ts";
import { mergePatch } from "../objects/merge-patch.ts";
import { objectAt } from "../objects/read-objects.ts";
import { type ClaimWork, patchClaim } from "./claim-context.ts";

/** Fields of the status that each side has of its own. */
const OWN_FIELDS: readonly string[] = ["conditions", "connectionDetails"];

/** Sets conditions of the claim; nothing is written if they are so already. */
export async function setClaimConditions(work: ClaimWork, wanted: readonly Condition[]): Promise<void> {
  const { conditions: current } = objectAt(work.claim, "status");
  const conditions = withConditions(current, wanted, work.context.now());
  if (conditions !== undefined) await patchClaim(work, { status: { conditions } }, "status");
}

/**
 * Makes the claim's status that of its composite, but for what each has of its own: conditions, and when connection details were
 * published. What the composite's status no longer has goes.
 */
export async function setClaimStatus(
  work: ClaimWork,
  composite: LiveObject,
  conditions: readonly Condition[],
  published: boolean,
): Promise<void> {
  const { claim, context } = work;
  const has = objectAt(claim, "status");
  const wanted: JsonObject = Object.create(null) as JsonObject;
  for (const [key, value] of Object.entries(objectAt(composite, "status"))) {
    if (!OWN_FIELDS.includes(key)) wanted[key] = value;
  }
  const all = withConditions(has["conditions"], conditions, context.now()) ?? has["conditions"];
  if (all !== undefined) wanted["conditions"] = all;
  const connectionDetails = published ? { lastPublishedTime: timeText(context.now()) } : has["connectionDetails"];
  if (connectionDetails !== undefined) wanted["connectionDetails"] = connectionDetails;
  const status = mergePatch(has, wanted);
  if (status !== undefined) await patchClaim(work, { status }, "status");
}

/** Whether a claim has this condition already, word for word: then it is no news. */
export function says(claim: LiveObject, { type, status, reason, message = "" }: Condition): boolean {
  const has = conditionOf(claim, type);
  return has?.["status"] === status && has["reason"] === reason && (has["message"] ?? "") === message;
}

function timeText(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
