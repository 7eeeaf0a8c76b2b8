import { mergePatch, newObject, objectAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, conditionIn, conditionOf, timestamp, withConditions } from "../objects/conditions.ts";
import { type ClaimContext, patchClaim } from "./claim-context.ts";

/** Fields of a status that are not copied from the composite. */
const OWN_FIELDS: readonly string[] = ["conditions", "connectionDetails"];

/** Sets conditions of the claim if they differ. */
export async function setClaimConditions(context: ClaimContext, wanted: readonly Condition[]): Promise<void> {
  const conditions = withConditions(context.claim, wanted, context.now());
  if (conditions !== undefined) await patchClaim(context, { status: { conditions } }, "status");
}

/**
 * Copies the composite's status to the claim, except conditions and the time when connection details were published.
 * Removes fields that the composite's status lacks.
 */
export async function setClaimStatus(
  context: ClaimContext,
  composite: LiveObject,
  conditions: readonly Condition[],
  published: boolean,
): Promise<void> {
  const current = objectAt(context.claim, "status");
  const wanted = newObject();
  for (const [key, value] of Object.entries(objectAt(composite, "status"))) {
    if (!OWN_FIELDS.includes(key)) wanted[key] = value;
  }
  const now = context.now();
  const set = [...shownConditions(context, composite), ...conditions];
  const all = withConditions(context.claim, set, now) ?? current["conditions"];
  if (all !== undefined) wanted["conditions"] = all;
  const connectionDetails = published ? { lastPublishedTime: timestamp(now) } : current["connectionDetails"];
  if (connectionDetails !== undefined) wanted["connectionDetails"] = connectionDetails;
  const status = mergePatch(current, wanted);
  if (status !== undefined) await patchClaim(context, { status }, "status");
}

/** The composite's conditions that functions also show on the claim. */
function shownConditions({ claimConditions }: ClaimContext, composite: LiveObject): Condition[] {
  return [...(claimConditions?.get(composite.metadata.uid) ?? [])].flatMap((type) => {
    return conditionIn(conditionOf(composite, type) ?? {}) ?? [];
  });
}
