import type { Definition } from "@xfn/composition/definition";
import { isApiError, type LiveObject, type Outcome, type Reconcile, type ResourceKind } from "@xfn/kubernetes";
import { AppliedMemory } from "../objects/apply-changed.ts";
import type { Condition } from "../objects/conditions.ts";
import { unsupportedPublishing } from "../objects/connection-secrets.ts";
import type { Context } from "../objects/context.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { ANNOTATION_EXTERNAL_NAME, ANNOTATION_PAUSED } from "../objects/labels.ts";
import { mergePatch } from "../objects/merge-patch.ts";
import { OwnWrites } from "../objects/own-writes.ts";
import { apiVersionOf, findLive, objectAt, textAt } from "../objects/read-objects.ts";
import { applyComposite, isReady } from "./apply-composite.ts";
import { bindableComposite, compositeName, recordBinding } from "./bind-composite.ts";
import { type ClaimMemory, type ClaimWork, patchClaim } from "./claim-context.ts";
import { ClaimProblem } from "./claim-error.ts";
import { completedSpec } from "./claim-fields.ts";
import { says, setClaimConditions, setClaimStatus } from "./claim-status.ts";
import { copySecret } from "./copy-secret.ts";
import { endClaim } from "./delete-claim.ts";

/** Somebody has to do something first, and not all of that is watched. */
const PROBLEM_MS = 10_000;

const SYNCED: Condition = { type: "Synced", status: "True", reason: "ReconcileSuccess" };
const AVAILABLE: Condition = { type: "Ready", status: "True", reason: "Available" };

/**
 * Reconciles the claims of a definition (seed 004, where they are called requirements; Crossplane v1.13): each has a composite,
 * which was made for it, or which it names in `spec.resourceRef` and nobody else has. What a claim says goes to the composite;
 * what the composite has become comes back. The key is `namespace/name`.
 *
 * @throws {TypeError} at once, if the definition offers no claims
 */
export function claimReconciler(context: Context, definition: Definition): Reconcile {
  const claims = claimKindOf(definition);
  const composites = compositeKindOf(definition);
  const memories = new Map<string, ClaimMemory>();
  return async (key, signal) => {
    const memory = memories.get(key) ?? emptyMemory(context);
    memory.own.begin();
    const claim = await findClaim(context, claims, key, memory, signal);
    if (claim === undefined) {
      memories.delete(key);
      return undefined;
    }
    memories.set(key, memory);
    return reconcile({ context, definition, memory, signal, claims, composites, claim });
  };
}

function emptyMemory({ now }: Context): ClaimMemory {
  return { own: new OwnWrites(now), applied: new AppliedMemory(), told: new Set() };
}

async function findClaim(
  context: Context,
  claims: ResourceKind,
  key: string,
  memory: ClaimMemory,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const [namespace = "", name = ""] = key.split("/");
  const reference = { apiVersion: apiVersionOf(claims), kind: claims.kind, name, namespace };
  const cache = context.informers.peek(claims);
  if (cache === undefined) return findLive(context, reference, signal);
  const cached = cache.get(name, namespace);
  return cached && memory.own.newest(reference, cached);
}

async function reconcile(work: ClaimWork): Promise<Outcome | undefined> {
  try {
    if (work.claim.metadata.annotations?.[ANNOTATION_PAUSED] === "true") {
      const message = `reconciliation is paused by the annotation ${ANNOTATION_PAUSED}`;
      await fail(work, { type: "Synced", status: "False", reason: "ReconcilePaused", message }, "Normal");
      return undefined;
    }
    if (work.claim.metadata["deletionTimestamp"] !== undefined) return await endClaim(work);
    return await synchronize(work);
  } catch (error) {
    if (error instanceof ClaimProblem) {
      await fail(work, { type: "Synced", status: "False", reason: error.code, message: error.message }, "Warning");
      return { requeueAfterMs: PROBLEM_MS };
    }
    if (isApiError(error, "Invalid", "Forbidden", "KindNotServed")) {
      await fail(
        work,
        { type: "Synced", status: "False", reason: "ReconcileError", message: error.message },
        "Warning",
      );
    }
    throw error;
  }
}

async function synchronize(work: ClaimWork): Promise<Outcome | undefined> {
  const { context } = work;
  const name = compositeName(work);
  const known = await bindableComposite(work, name);
  await recordBinding(work, name);
  if (known?.metadata["deletionTimestamp"] !== undefined) {
    const message = `the ${known.kind} ${name} is being deleted`;
    await setClaimConditions(work, [{ type: "Ready", status: "False", reason: "Waiting", message }]);
    return { requeueAfterMs: PROBLEM_MS };
  }
  const { composite, created } = await applyComposite(work, name, known);
  if (created) {
    const message = `created ${composite.kind} ${name}`;
    context.events.record(work.claim, { type: "Normal", reason: "BindCompositeResource", message });
  }
  await takeBack(work, composite);
  if (!isReady(composite)) {
    await setClaimStatus(work, composite, [SYNCED, waiting(composite)], false);
    return undefined;
  }
  return publish(work, composite);
}

/** Copies the connection secret, and says that the claim is ready when all of it is there. */
async function publish(work: ClaimWork, composite: LiveObject): Promise<Outcome | undefined> {
  const { context, claim } = work;
  try {
    const published = await copySecret(work, composite);
    if (published) {
      const message = "copied the composite's connection secret";
      context.events.record(claim, { type: "Normal", reason: "PropagateConnectionSecret", message });
    }
    const unpublished = says(claim, AVAILABLE) ? undefined : unsupportedPublishing(claim);
    if (unpublished !== undefined)
      context.events.record(claim, { type: "Warning", reason: "PropagateConnectionSecret", message: unpublished });
    if (!says(claim, AVAILABLE) && isSecretMissing(claim, composite)) {
      const message =
        "the composite has no connection secret to copy: its Composition says no writeConnectionSecretsToNamespace";
      context.events.record(claim, { type: "Warning", reason: "NoConnectionSecret", message });
    }
    await setClaimStatus(work, composite, [SYNCED, AVAILABLE], published);
    return undefined;
  } catch (error) {
    if (!(error instanceof ClaimProblem)) throw error;
    const { code, message } = error;
    const synced: Condition = { type: "Synced", status: "False", reason: code, message };
    const waits: Condition = {
      type: "Ready",
      status: "False",
      reason: "Waiting",
      message: "waits for its connection secret",
    };
    if (!says(claim, synced)) context.events.record(claim, { type: "Warning", reason: code, message });
    await setClaimStatus(work, composite, [synced, waits], false);
    return { requeueAfterMs: PROBLEM_MS };
  }
}

function isSecretMissing(claim: LiveObject, composite: LiveObject): boolean {
  const wants = textAt(claim, "spec", "writeConnectionSecretToRef", "name") !== undefined;
  return wants && textAt(composite, "spec", "writeConnectionSecretToRef", "name") === undefined;
}

/** What the composite has and the claim does not say: of its spec, and its external name. */
async function takeBack(work: ClaimWork, composite: LiveObject): Promise<void> {
  const { claim } = work;
  const spec = mergePatch(objectAt(claim, "spec"), completedSpec(claim, composite, work.definition));
  const external = composite.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME] ?? "";
  const isNamed = external === "" || claim.metadata.annotations?.[ANNOTATION_EXTERNAL_NAME] === external;
  if (spec === undefined && isNamed) return;
  await patchClaim(work, {
    ...(spec !== undefined && { spec }),
    ...(!isNamed && { metadata: { annotations: { [ANNOTATION_EXTERNAL_NAME]: external } } }),
  });
}

function waiting(composite: LiveObject): Condition {
  const message = `waits for the ${composite.kind} ${composite.metadata.name} to become ready`;
  return { type: "Ready", status: "False", reason: "Waiting", message };
}

/** Says what stands in the way, by a condition, and by an event if it is news. */
async function fail(work: ClaimWork, condition: Condition, type: "Normal" | "Warning"): Promise<void> {
  const { claim, context } = work;
  const { reason, message = "" } = condition;
  if (!says(claim, condition)) context.events.record(claim, { type, reason, message });
  await setClaimConditions(work, [condition]);
}
