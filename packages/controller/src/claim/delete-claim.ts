import { claimFieldOf } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import { isApiError, type LiveObject, type Outcome } from "@xfn/kubernetes";
import { deleteConnectionSecret } from "../objects/connection-secrets.ts";
import { FINALIZER_CLAIM, finalizersOf } from "../objects/finalizers.ts";
import { referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { bindingOf, compositeName, isOfNamesake, provisionedName } from "./bind-composite.ts";
import { type ClaimContext, findCompositeLive, patchClaim } from "./claim-context.ts";
import { ClaimError } from "./claim-error.ts";
import { setClaimConditions } from "./claim-status.ts";
import { reclaimPolicyOf, releaseComposite } from "./reclaim.ts";

/**
 * Deletes or releases a claim's composite according to its reclaim policy. Deletes the claim's connection secret, and
 * removes its finalizer. With `compositeDeletePolicy` Foreground it first waits until a deleted composite and its
 * composed resources are gone. A composite that is bound to another claim, or was never bound to this one, stays.
 *
 * @throws {ClaimError} `CompositeOfAnother` if a composite that was created for this claim has lost its `claimRef`
 */
export async function deleteClaim(context: ClaimContext): Promise<Outcome | undefined> {
  if (!finalizersOf(context.claim).includes(FINALIZER_CLAIM)) return undefined;
  const composite = await boundComposite(context);
  if (composite === undefined) return finish(context, "there is no composite left");
  if (reclaimPolicyOf(context, composite) === "Retain") {
    // Delete the copy first: the next claim may be bound as soon as the composite is released.
    await deleteCopy(context);
    await releaseComposite(context, composite);
    return finish(context, `released ${composite.metadata.name}, which is retained`, "Released");
  }
  const isForeground = textAt(context.claim, "spec", "compositeDeletePolicy") === "Foreground";
  if (!isBeingDeleted(composite)) await deleteComposite(context, composite, isForeground);
  if (isForeground) {
    const message = `waits for the ${context.composites.kind} ${composite.metadata.name} to be deleted`;
    await setClaimConditions(context, [{ type: "Ready", status: "False", reason: "Deleting", message }]);
    return { requeueAfterMs: REQUEUE_AFTER_MS.compositeDeletion };
  }
  return finish(context, `deleted ${composite.metadata.name}`);
}

async function finish(
  context: ClaimContext,
  message: string,
  reason = "DeleteCompositeResource",
): Promise<Outcome | undefined> {
  const { claim, memory, events } = context;
  await deleteCopy(context);
  await patchClaim(context, { metadata: { finalizers: finalizersOf(claim).filter((one) => one !== FINALIZER_CLAIM) } });
  memory.writes.sawGone(claim.metadata.uid);
  events.record(claim, { type: "Normal", reason, message });
  return undefined;
}

async function deleteCopy(context: ClaimContext): Promise<void> {
  const { claim, signal } = context;
  const name = textAt(claim, "spec", "writeConnectionSecretToRef", "name");
  const secret = name === undefined ? undefined : { name, namespace: claim.metadata.namespace ?? "" };
  await deleteConnectionSecret(context.actors.xr, claim, secret, signal);
}

/** Reads the composite that is deleted or released with the claim. */
async function boundComposite(context: ClaimContext): Promise<LiveObject | undefined> {
  const { claim, composites } = context;
  let name: string;
  try {
    name = compositeName(context);
  } catch (error) {
    // A claim with an invalid reference was never bound.
    if (error instanceof ClaimError) return undefined;
    throw error;
  }
  const composite = await findCompositeLive(context, name);
  if (composite === undefined) return undefined;
  const binding = bindingOf(context, composite);
  // Leave a composite that is bound to a later claim of this name.
  if (binding === "this") return isOfNamesake(context, composite) ? undefined : composite;
  // With the policy Retain, a missing claim reference means that the composite was released before a crash.
  if (binding === "none" && name === provisionedName(claim) && reclaimPolicyOf(context, composite) === "Delete") {
    throw new ClaimError(
      "CompositeOfAnother",
      `the ${composites.kind} ${name} was created for this claim but has no spec.${claimFieldOf(context.definition)}, and is not deleted; ` +
        "set it, or delete the composite",
    );
  }
  return undefined;
}

async function deleteComposite(context: ClaimContext, composite: LiveObject, isForeground: boolean): Promise<void> {
  const { actors, composites, signal } = context;
  const { name, uid } = composite.metadata;
  try {
    await actors.xr.client.delete(referenceOf(composites, name), {
      preconditions: { uid },
      propagationPolicy: isForeground ? "Foreground" : undefined,
      signal,
    });
  } catch (error) {
    if (isApiError(error, "NotFound")) return;
    if (!isApiError(error, "Conflict")) throw error;
    // A composite of the name with another UID means that the bound one is gone. Otherwise the conflict has another
    // cause.
    const current = await findCompositeLive(context, name);
    if (current?.metadata.uid === uid) throw error;
  }
}
