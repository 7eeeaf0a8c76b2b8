import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import { mergePatch, objectAt, textAt } from "@xfn/json";
import { isApiError, type LiveObject, type Outcome, type Reconcile, type ResourceKind } from "@xfn/kubernetes";
import { actorsOf } from "../account/actors.ts";
import { ApplyCache } from "../objects/apply-cache.ts";
import { CompositeError } from "../objects/composite-error.ts";
import { type Condition, hasCondition, isTrue, RECONCILE_ERROR } from "../objects/conditions.ts";
import { unsupportedPublishing } from "../objects/connection-secrets.ts";
import type { Context } from "../objects/context.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { referenceOf } from "../objects/kinds.ts";
import { ANNOTATION_EXTERNAL_NAME, ANNOTATION_PAUSED } from "../objects/labels.ts";
import { OwnWrites } from "../objects/own-writes.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { parseQueueKey } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { applyComposite } from "./apply-composite.ts";
import { bindableComposite, compositeName, recordBinding } from "./bind-composite.ts";
import { type ClaimContext, type ClaimMemory, patchClaim } from "./claim-context.ts";
import { ClaimError } from "./claim-error.ts";
import { completedSpec } from "./claim-fields.ts";
import { setClaimConditions, setClaimStatus } from "./claim-status.ts";
import { emitCauses, syncedCondition, waitingCondition } from "./composite-causes.ts";
import { copySecret } from "./copy-secret.ts";
import { deleteClaim } from "./delete-claim.ts";

const AVAILABLE: Condition = { type: "Ready", status: "True", reason: "Available" };
const USER_ACTION: Outcome = { requeueAfterMs: REQUEUE_AFTER_MS.userAction };

/**
 * Reconciles the claims of a definition (Crossplane v1.13, "Claims"). The key is `namespace/name`.
 *
 * A claim has one composite: the controller creates it, or the claim names an unbound one in `spec.resourceRef`. The
 * claim's fields are copied to the composite, and the composite's state is copied back.
 *
 * @throws {TypeError} at once, if the definition offers no claims
 */
export function claimReconciler(context: Context, definition: Definition): Reconcile {
  const claims = claimKindOf(definition);
  if (claims === undefined) throw new TypeError(`${definition.metadata.name ?? ""} offers no claims`);
  const composites = compositeKindOf(definition);
  const actors = actorsOf(context, definition);
  const memories = new Map<string, ClaimMemory>();
  return async (key, signal) => {
    const memory = memories.get(key) ?? emptyMemory(context);
    memory.writes.begin();
    const claim = await findClaim(context, claims, key, memory, signal);
    if (claim === undefined) {
      memories.delete(key);
      return undefined;
    }
    memories.set(key, memory);
    return reconcile({
      ...context,
      actors,
      definition,
      memory,
      signal,
      claims,
      composites,
      claim,
    });
  };
}

function emptyMemory({ now }: Context): ClaimMemory {
  return { writes: new OwnWrites(now), applies: new ApplyCache(), yielded: new Set() };
}

async function findClaim(
  context: Context,
  claims: ResourceKind,
  key: string,
  memory: ClaimMemory,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const { name, namespace } = parseQueueKey(key);
  const reference = referenceOf(claims, name, namespace);
  const cache = context.informers.peek(claims);
  if (cache === undefined) return findLive(context, reference, signal);
  const cached = cache.get(name, namespace);
  return cached && memory.writes.newest(reference, cached);
}

async function reconcile(context: ClaimContext): Promise<Outcome | undefined> {
  const { claim } = context;
  try {
    if (isPaused(claim)) {
      const message = `reconciliation is paused by the annotation ${ANNOTATION_PAUSED}`;
      await setNotSynced(context, "ReconcilePaused", message, "Normal");
      return undefined;
    }
    await context.actors.xr.requireAccount(claim, context.signal);
    return isBeingDeleted(claim) ? await deleteClaim(context) : await synchronize(context);
  } catch (error) {
    if (error instanceof ClaimError) {
      await setNotSynced(context, error.code, error.message, "Warning");
      return USER_ACTION;
    }
    if (error instanceof CompositeError) await setNotSynced(context, error.code, error.message, "Warning");
    if (isApiError(error, "Invalid", "Forbidden", "KindNotServed"))
      await setNotSynced(context, RECONCILE_ERROR, error.message, "Warning");
    throw error;
  }
}

async function synchronize(context: ClaimContext): Promise<Outcome | undefined> {
  const name = compositeName(context);
  const known = await bindableComposite(context, name);
  await recordBinding(context, name);
  if (known !== undefined && isBeingDeleted(known)) {
    const message = `the ${known.kind} ${name} is being deleted`;
    await setClaimConditions(context, [{ type: "Ready", status: "False", reason: "Waiting", message }]);
    return USER_ACTION;
  }
  const { composite, created } = await applyComposite(context, name, known);
  if (created) {
    const message = `created ${composite.kind} ${name}`;
    context.events.record(context.claim, { type: "Normal", reason: "BindCompositeResource", message });
  }
  await copyBack(context, composite);
  const synced = syncedCondition(composite);
  if (isTrue(composite, "Ready")) return publish(context, composite, synced);
  const conditions = [synced, waitingCondition(composite)];
  emitCauses(context, conditions);
  await setClaimStatus(context, composite, conditions, false);
  return undefined;
}

/** Copies the connection secret, and sets the claim ready. */
async function publish(context: ClaimContext, composite: LiveObject, synced: Condition): Promise<Outcome | undefined> {
  const { claim, events } = context;
  const reason = "PropagateConnectionSecret";
  try {
    requireSecret(context, composite);
    const published = await copySecret(context, composite);
    if (published)
      events.record(claim, { type: "Normal", reason, message: "copied the composite's connection secret" });
    if (!hasCondition(claim, AVAILABLE)) warnOfExternalStore(context);
    emitCauses(context, [synced]);
    await setClaimStatus(context, composite, [synced, AVAILABLE], published);
    return undefined;
  } catch (error) {
    if (!(error instanceof ClaimError)) throw error;
    const { code, message } = error;
    const refused: Condition = { type: "Synced", status: "False", reason: code, message };
    const waiting: Condition = {
      type: "Ready",
      status: "False",
      reason: "Waiting",
      message: "waits for its connection secret",
    };
    emitCauses(context, [refused]);
    await setClaimStatus(context, composite, [refused, waiting], false);
    return USER_ACTION;
  }
}

/** Warns that a claim which asks for connection details in an external store becomes ready without them. */
function warnOfExternalStore({ claim, definition, events }: ClaimContext): void {
  const unpublished = unsupportedPublishing(claim, layoutOfDefinition(definition));
  if (unpublished !== undefined)
    events.record(claim, { type: "Warning", reason: "PropagateConnectionSecret", message: unpublished });
}

/**
 * A claim that asks for a connection secret is ready only with it.
 *
 * @throws {ClaimError} `NoConnectionSecret` if its composite has none to copy
 */
function requireSecret({ claim, composites }: ClaimContext, composite: LiveObject): void {
  const wants = textAt(claim, "spec", "writeConnectionSecretToRef", "name") !== undefined;
  if (!wants || textAt(composite, "spec", "writeConnectionSecretToRef", "name") !== undefined) return;
  const { name } = composite.metadata;
  throw new ClaimError(
    "NoConnectionSecret",
    `the ${composites.kind} ${name} has no connection secret to copy; give its Composition ` +
      "spec.writeConnectionSecretsToNamespace, or remove spec.writeConnectionSecretToRef from this object",
  );
}

/** Copies the composite's external name, and the fields of its spec that the claim does not set. */
async function copyBack(context: ClaimContext, composite: LiveObject): Promise<void> {
  const { claim } = context;
  const spec = mergePatch(objectAt(claim, "spec"), completedSpec(claim, composite, context.definition));
  const external = composite.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME] ?? "";
  const isNamed = external === "" || claim.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME] === external;
  if (spec === undefined && isNamed) return;
  await patchClaim(context, {
    ...(spec !== undefined && { spec }),
    ...(!isNamed && { metadata: { annotations: { [ANNOTATION_EXTERNAL_NAME]: external } } }),
  });
}

/** Sets the condition `Synced` to false, and emits an event if the condition changes. */
async function setNotSynced(
  context: ClaimContext,
  reason: string,
  message: string,
  type: "Normal" | "Warning",
): Promise<void> {
  const condition: Condition = { type: "Synced", status: "False", reason, message };
  if (!hasCondition(context.claim, condition)) context.events.record(context.claim, { type, reason, message });
  await setClaimConditions(context, [condition]);
}
