import { isApiError, type LiveObject, type Outcome } from "@xfn/kubernetes";
import { deleteConnectionSecret } from "../objects/connection-secrets.ts";
import { FINALIZER_CLAIM, finalizersOf } from "../objects/finalizers.ts";
import { referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { textAt } from "../objects/read-objects.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { bindingOf, compositeName, provisionedName } from "./bind-composite.ts";
import { type ClaimContext, findCompositeLive, patchClaim } from "./claim-context.ts";
import { ClaimError } from "./claim-error.ts";
import { setClaimConditions } from "./claim-status.ts";

/**
 * Deletes a claim's composite and its connection secret, and removes the claim's finalizer. With
 * `compositeDeletePolicy` Foreground it first waits until the composite and its composed resources are gone. A
 * composite that is bound to another claim, or was never bound to this one, stays.
 *
 * @throws {ClaimError} `CompositeOfAnother` for a composite that was created for this claim and has lost its
 *   `claimRef`
 */
export async function deleteClaim(context: ClaimContext): Promise<Outcome | undefined> {
  const { claim, memory, events } = context;
  const finalizers = finalizersOf(claim);
  if (!finalizers.includes(FINALIZER_CLAIM)) return undefined;
  const composite = await boundComposite(context);
  if (composite !== undefined) {
    const isForeground = textAt(claim, "spec", "compositeDeletePolicy") === "Foreground";
    if (!isBeingDeleted(composite)) await deleteComposite(context, composite, isForeground);
    if (isForeground) {
      const message = `waits for the ${context.composites.kind} ${composite.metadata.name} to be deleted`;
      await setClaimConditions(context, [{ type: "Ready", status: "False", reason: "Deleting", message }]);
      return { requeueAfterMs: REQUEUE_AFTER_MS.compositeDeletion };
    }
  }
  const name = textAt(claim, "spec", "writeConnectionSecretToRef", "name");
  const secret = name === undefined ? undefined : { name, namespace: claim.metadata.namespace ?? "" };
  await deleteConnectionSecret(context, claim, secret, context.signal);
  await patchClaim(context, { metadata: { finalizers: finalizers.filter((one) => one !== FINALIZER_CLAIM) } });
  memory.writes.sawGone(claim.metadata.uid);
  const message = composite === undefined ? "there is no composite left" : `deleted ${composite.metadata.name}`;
  events.record(claim, { type: "Normal", reason: "DeleteCompositeResource", message });
  return undefined;
}

/** Reads the composite that is deleted with the claim. */
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
  if (binding === "this") return composite;
  if (binding === "none" && name === provisionedName(claim)) {
    throw new ClaimError(
      "CompositeOfAnother",
      `the ${composites.kind} ${name} was created for this claim but has no spec.claimRef, and is not deleted; ` +
        "set it, or delete the composite",
    );
  }
  return undefined;
}

async function deleteComposite(context: ClaimContext, composite: LiveObject, isForeground: boolean): Promise<void> {
  const { client, composites, signal } = context;
  const { name, uid } = composite.metadata;
  try {
    await client.delete(referenceOf(composites, name), {
      preconditions: { uid },
      propagationPolicy: isForeground ? "Foreground" : undefined,
      signal,
    });
  } catch (error) {
    if (isApiError(error, "NotFound")) return;
    if (!isApiError(error, "Conflict")) throw error;
    // A composite of the name with another UID means that the bound one is gone. Otherwise the conflict has another
    // reason.
    const current = await findCompositeLive(context, name);
    if (current?.metadata.uid === uid) throw error;
  }
}
