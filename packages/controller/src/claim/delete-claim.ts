import { isApiError, type LiveObject, type Outcome } from "@xfn/kubernetes";
import { deleteConnectionSecret } from "../objects/connection-secrets.ts";
import { FINALIZER_CLAIM } from "../objects/labels.ts";
import { textAt } from "../objects/read-objects.ts";
import { claimOf, compositeName, provisionedName } from "./bind-composite.ts";
import { type ClaimWork, compositeReference, findCompositeLive, patchClaim } from "./claim-context.ts";
import { ClaimProblem } from "./claim-error.ts";
import { setClaimConditions } from "./claim-status.ts";

/** Its composite's end reconciles the claim; this is for when nobody watches. */
const WAIT_MS = 2_000;

/**
 * Ends a claim that is being deleted: deletes its composite (`compositeDeletePolicy` Background: and goes at once; Foreground:
 * and goes when the composite and all that it is made of have gone), then takes off the finalizer. A composite that is another
 * claim's, or was never bound to this one, stays. The claim's own connection secret goes first.
 *
 * @throws {ClaimProblem} `CompositeOfAnother` for a composite that was made for this claim and no longer says whose it is
 */
export async function endClaim(work: ClaimWork): Promise<Outcome | undefined> {
  const { claim, context, memory } = work;
  const finalizers = (claim.metadata["finalizers"] ?? []) as string[];
  if (!finalizers.includes(FINALIZER_CLAIM)) return undefined;
  const composite = await ownComposite(work);
  if (composite !== undefined) {
    const isForeground = textAt(claim, "spec", "compositeDeletePolicy") === "Foreground";
    const isGoing = composite.metadata["deletionTimestamp"] !== undefined;
    if (!isGoing) await deleteComposite(work, composite, isForeground);
    if (isForeground) {
      const message = `waits for the ${work.composites.kind} ${composite.metadata.name} to be deleted`;
      await setClaimConditions(work, [{ type: "Ready", status: "False", reason: "Deleting", message }]);
      return { requeueAfterMs: WAIT_MS };
    }
  }
  const secret = textAt(claim, "spec", "writeConnectionSecretToRef", "name");
  const place = secret === undefined ? undefined : { name: secret, namespace: claim.metadata.namespace ?? "" };
  await deleteConnectionSecret(context, claim, place, work.signal);
  await patchClaim(work, { metadata: { finalizers: finalizers.filter((one) => one !== FINALIZER_CLAIM) } });
  memory.own.sawGone(claim.metadata.uid);
  const message = composite === undefined ? "there is no composite left" : `deleted ${composite.metadata.name}`;
  context.events.record(claim, { type: "Normal", reason: "DeleteCompositeResource", message });
  return undefined;
}

/** The composite that goes with the claim, as the server has it now. */
async function ownComposite(work: ClaimWork): Promise<LiveObject | undefined> {
  const { claim, composites } = work;
  let name: string;
  try {
    name = compositeName(work);
  } catch (error) {
    // A claim that could never be bound has nothing to delete.
    if (error instanceof ClaimProblem) return undefined;
    throw error;
  }
  const composite = await findCompositeLive(work, name);
  if (composite === undefined) return undefined;
  const whose = claimOf(work, composite);
  if (whose === "ours") return composite;
  if (whose === "nobody" && name === provisionedName(claim)) {
    throw new ClaimProblem(
      "CompositeOfAnother",
      `the ${composites.kind} ${name} was made for this claim but has no spec.claimRef, and is not deleted; ` +
        "give it one, or delete it",
    );
  }
  return undefined;
}

async function deleteComposite(work: ClaimWork, composite: LiveObject, isForeground: boolean): Promise<void> {
  const { name, uid } = composite.metadata;
  try {
    await work.context.client.delete(compositeReference(work, name), {
      preconditions: { uid },
      propagationPolicy: isForeground ? "Foreground" : undefined,
      signal: work.signal,
    });
  } catch (error) {
    if (isApiError(error, "NotFound")) return;
    if (!isApiError(error, "Conflict")) throw error;
    // Where another of that name came meanwhile, the one that was ours is gone. A conflict has other reasons, too.
    const now = await findCompositeLive(work, name);
    if (now?.metadata.uid === uid) throw error;
  }
}
