import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import { isApiError, type LiveObject, type Outcome, type Reconcile } from "@xfn/kubernetes";
import type { OwnAccess } from "../account/actor.ts";
import { actorsOf } from "../account/actors.ts";
import { ApplyCache } from "../objects/apply-cache.ts";
import { CompositeError } from "../objects/composite-error.ts";
import { hasCondition, isTrue, RECONCILE_ERROR } from "../objects/conditions.ts";
import { unsupportedPublishing } from "../objects/connection-secrets.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { FINALIZER_CLAIM, finalizersOf } from "../objects/finalizers.ts";
import { referenceOf } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED } from "../objects/labels.ts";
import { OwnWrites } from "../objects/own-writes.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { isPaused } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { ClaimError } from "./claim-error.ts";
import { type ClaimMemory, type ClaimPort, carryOut, type Subject } from "./claim-port.ts";
import { findClaim, findCopy, findLiveComposite, observeClaim, observeEnding, observeSecrets } from "./claim-reader.ts";
import {
  AVAILABLE,
  type ClaimReport,
  eventsOf,
  notSynced,
  planStatus,
  progressOf,
  waitsFor,
  waitsForSecret,
} from "./claim-status.ts";
import { planClaim, planCopyBack } from "./plan-claim.ts";
import { copyFailure, planCopy } from "./plan-copy.ts";
import { endEvent, planEnd, planEnding, planRelease, releaseEvent } from "./plan-ending.ts";

const USER_ACTION: Outcome = { requeueAfterMs: REQUEUE_AFTER_MS.userAction };

/** The needs of the reconcilers of claims. */
export interface ClaimNeeds extends OwnAccess, Pick<ClaimPort, "events"> {
  /** The types of conditions that functions also show on the claim, by the UID of the XR. Default: none. */
  readonly claimConditions?: ClaimPort["shown"] | undefined;
}

/**
 * Reconciles the claims of a definition (Crossplane v1.13, "Claims"). The key is `namespace/name`.
 *
 * A claim has one composite: the controller creates it, or the claim names an unbound one in `spec.resourceRef`. The
 * claim's fields are copied to the composite, and the composite's state is copied back.
 *
 * @throws {TypeError} at once, if the definition offers no claims
 */
export function claimReconciler(needs: ClaimNeeds, definition: Definition): Reconcile {
  const claims = claimKindOf(definition);
  if (claims === undefined) throw new TypeError(`${definition.metadata.name ?? ""} offers no claims`);
  const composites = compositeKindOf(definition);
  const actors = actorsOf(needs, definition);
  const { claimConditions: shown = new Map(), events, now } = needs;
  const memories = new Map<string, ClaimMemory>();
  return async (key, signal) => {
    const memory = memories.get(key) ?? { writes: new OwnWrites(now), applies: new ApplyCache(), yielded: new Set() };
    memory.writes.begin();
    const port = { actors, events, shown, now, signal };
    const claim = await findClaim(port, claims, key, memory);
    if (claim === undefined) {
      memories.delete(key);
      return undefined;
    }
    memories.set(key, memory);
    return reconcile(port, { claim, claims, composites, definition, memory });
  };
}

async function reconcile(port: ClaimPort, subject: Subject): Promise<Outcome | undefined> {
  const { claim } = subject;
  try {
    if (isPaused(claim)) {
      const message = `reconciliation is paused by the annotation ${ANNOTATION_PAUSED}`;
      await report(port, subject, notSynced("ReconcilePaused", message));
      return undefined;
    }
    await port.actors.xr.requireAccount(claim, port.signal);
    return isBeingDeleted(claim) ? await end(port, subject) : await synchronize(port, subject);
  } catch (error) {
    const isKnown = error instanceof ClaimError || error instanceof CompositeError;
    if (isKnown) await report(port, subject, notSynced(error.code, error.message));
    else if (isApiError(error, "Invalid", "Forbidden", "KindNotServed"))
      await report(port, subject, notSynced(RECONCILE_ERROR, error.message));
    if (error instanceof ClaimError) return USER_ACTION;
    throw error;
  }
}

async function synchronize(port: ClaimPort, subject: Subject): Promise<Outcome | undefined> {
  const { named, offering } = await observeClaim(port, subject);
  const { writes, existing, yielded } = planClaim(subject, named, offering);
  for (const path of yielded) {
    // One event per process and field: nothing changes until the claim or the Composition changes.
    if (subject.memory.yielded.has(path)) continue;
    subject.memory.yielded.add(path);
    const message = `${path}: the Composition sets it; the claim's value has no effect`;
    port.events.record(subject.claim, { type: "Warning", reason: "FieldOfComposition", message });
  }
  const { latest } = await carryOut(port, subject, writes);
  const composite = latest(referenceOf(subject.composites, named.name)) ?? existing;
  if (composite === undefined) throw new TypeError(`the plan of the claim has no write for ${named.name}`);
  if (existing !== undefined && isBeingDeleted(existing)) {
    await report(port, subject, waitsFor(`the ${existing.kind} ${named.name} is being deleted`));
    return USER_ACTION;
  }
  if (existing === undefined) {
    const message = `created ${composite.kind} ${named.name}`;
    port.events.record(subject.claim, { type: "Normal", reason: "BindCompositeResource", message });
  }
  await carryOut(port, subject, planCopyBack(subject, composite));
  try {
    const published = isTrue(composite, "Ready") ? await publish(port, subject, composite) : undefined;
    await report(port, subject, progressOf(composite, published));
    return undefined;
  } catch (error) {
    if (!(error instanceof ClaimError)) throw error;
    await report(port, subject, waitsForSecret(composite, error));
    return USER_ACTION;
  }
}

/**
 * Copies the connection secret.
 *
 * @returns whether it has changed
 * @throws {ClaimError}
 */
async function publish(port: ClaimPort, subject: Subject, composite: LiveObject): Promise<boolean> {
  const { claim, definition } = subject;
  const { events } = port;
  const reason = "PropagateConnectionSecret";
  const seen = await observeSecrets(port, subject, composite);
  const { results } = await carryOut(port, subject, planCopy(subject, composite, seen)).catch((error: unknown) => {
    throw copyFailure(error, seen);
  });
  const published = results.size > 0;
  if (published) events.record(claim, { type: "Normal", reason, message: "copied the composite's connection secret" });
  // A claim that asks for connection details in an external store becomes ready without them.
  const message = hasCondition(claim, AVAILABLE)
    ? undefined
    : unsupportedPublishing(claim, layoutOfDefinition(definition));
  if (message !== undefined) events.record(claim, { type: "Warning", reason, message });
  return published;
}

/** Emits an event for each new cause, and writes the status. */
async function report(port: ClaimPort, subject: Subject, result: ClaimReport): Promise<void> {
  const { claim } = subject;
  for (const event of eventsOf(claim, result)) port.events.record(claim, event);
  await carryOut(port, subject, planStatus(claim, result, port.shown, port.now()));
}

/** Deletes or releases a claim's composite, deletes the claim's connection secret, and removes its finalizer. */
async function end(port: ClaimPort, subject: Subject): Promise<Outcome | undefined> {
  const { claim, memory } = subject;
  if (!finalizersOf(claim).includes(FINALIZER_CLAIM)) return undefined;
  const ending = planEnding(subject, await observeEnding(port, subject));
  const { composite, waits } = ending;
  await carryOut(port, subject, ending.writes).catch(async (error: unknown) => {
    // A composite of the name with another UID means that the bound one is gone. Otherwise the conflict has another
    // cause.
    if (composite === undefined || !isApiError(error, "Conflict")) throw error;
    const current = await findLiveComposite(port, subject, composite.metadata.name);
    if (current?.metadata.uid === composite.metadata.uid) throw error;
  });
  if (composite !== undefined && waits) {
    await report(
      port,
      subject,
      waitsFor(`waits for the ${composite.kind} ${composite.metadata.name} to be deleted`, "Deleting"),
    );
    return { requeueAfterMs: REQUEUE_AFTER_MS.compositeDeletion };
  }
  const { latest } = await carryOut(port, subject, planRelease(subject, ending, await findCopy(port, claim)));
  const released = composite && latest(referenceTo(composite));
  if (released !== undefined) port.events.record(released, releaseEvent(subject, released));
  await carryOut(port, subject, planEnd(subject));
  memory.writes.sawGone(claim.metadata.uid);
  port.events.record(claim, endEvent(ending));
  return undefined;
}
