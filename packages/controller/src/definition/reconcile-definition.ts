import { claimCrd, compositeCrd, type Definition } from "@xfn/composition/definition";
import { textsAt } from "@xfn/json";
import type { LiveObject, Outcome, ResourceKind } from "@xfn/kubernetes";
import { INSTANCES } from "../kinds/instance-descriptions.ts";
import { ApplyCache } from "../objects/apply-cache.ts";
import { type Condition, hasCondition } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { claimKindOf } from "../objects/definition-kinds.ts";
import { finalizersOf } from "../objects/finalizers.ts";
import { CRDS, DEFINITIONS, definitionKey, referenceOf } from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { type PolledReconcile, REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { accountCondition } from "./account-condition.ts";
import { type CrdState, ensureCrd, servedFor } from "./definition-crd.ts";
import { type DefinitionMemory, ensureRoles, type PendingCrd } from "./definition-roles.ts";
import { definitionStatus, invalidCondition, missingFinalizers } from "./definition-status.ts";
import { setFinalizers, setStatus } from "./patch-definition.ts";
import { checkLiveDefinition } from "./read-definition.ts";
import { isStillPending, remainingWork } from "./settled-definition.ts";
import { terminateDefinition } from "./terminate-definition.ts";

/**
 * Reconciles the CustomResourceDefinitions of definitions of a kind. The key is the name.
 *
 * Conditions and finalizers are those of Crossplane v1.13. `Established` means that composites are served, `Offered`
 * that claims are. A definition that has errors, or whose CRD has another owner, only gets conditions. A deleted
 * definition deletes its claims, then its composites, then the CRDs.
 */
export function definitionReconciler(context: Context, kind: ResourceKind = DEFINITIONS): PolledReconcile {
  const memories = new Map<string, DefinitionMemory>();
  return async (name, signal) => {
    const memory = memories.get(name) ?? { applies: new ApplyCache(), emitted: new Set() };
    const key = definitionKey(kind, name);
    if (isStillPending(context, memory.pending, kind, name))
      return { requeueAfterMs: REQUEUE_AFTER_MS.watchedCrdPending };
    const remaining = remainingWork(context, memory, kind, name);
    const wasSettled = memory.isSettled === true;
    memory.isSettled = remaining.is === "nothing";
    memories.set(name, memory);
    if (remaining.is === "nothing") return { settled: wasSettled ? "again" : "first" };
    if (remaining.is === "roles") {
      const waitMs = context.bursts?.deferralMs(key) ?? 0;
      if (waitMs > 0) return { requeueAfterMs: waitMs };
      await ensureRoles(context, memory, remaining.object, remaining.definition, signal);
      return undefined;
    }
    const object = await findLive(context, referenceOf(kind, name), signal);
    if (object === undefined || isBeingDeleted(object)) context.bursts?.forget(key);
    if (object === undefined) memories.delete(name);
    if (object === undefined || isPaused(object)) return undefined;
    if (isBeingDeleted(object)) return terminateDefinition(context, object, signal);
    const checked = checkLiveDefinition(object);
    if ("definition" in checked) return ensureDefinition(context, memory, object, checked.definition, signal);
    const condition = invalidCondition(checked.problem);
    emitChanges(context, object, [condition]);
    await setStatus(context, object, [condition], {}, signal);
    return undefined;
  };
}

async function ensureDefinition(
  context: Context,
  memory: DefinitionMemory,
  object: LiveObject,
  definition: Definition,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const claimKind = claimKindOf(definition);
  // Runs before the first CRD is applied, while the list of objects to remove is still complete.
  const finalizers = [...finalizersOf(object), ...missingFinalizers(object, definition)];
  const current = await setFinalizers(context, object, finalizers, signal);

  const composites = await ensureCrd(context, memory.applies, current, compositeCrd(object, INSTANCES), signal);
  const claims = claimKind && (await ensureCrd(context, memory.applies, current, claimCrd(object, INSTANCES), signal));
  const established = composites.is === "established";
  const key = definitionKey(definition, object.metadata.name);
  context.bursts?.report(key, composites.is === "pending" || claims?.is === "pending");
  memory.pending = composites.is === "pending" ? pendingCrd(context, current) : undefined;
  const waitMs = established ? (context.bursts?.deferralMs(key) ?? 0) : 0;
  const isRefused = composites.is === "refused" || claims?.is === "refused";
  if (isRefused || (established && waitMs === 0)) {
    const served = { composites: servedFor(composites), claims: servedFor(claims) };
    await ensureRoles(context, memory, current, definition, signal, served);
  }

  const problems = context.instanceProblems?.(key) ?? {};
  const { conditions: served, controllers } = definitionStatus(definition, composites, claims, problems);
  const account = await accountCondition(context, current, definition, signal);
  const conditions = account === undefined ? served : [...served, account];
  emitChanges(context, current, conditions);
  await setStatus(context, current, conditions, controllers, signal);
  const isUnlisted = problems.composites !== undefined || problems.claims !== undefined;
  const lacksAccount = account !== undefined && account.status !== "True";
  const outcome = requeueFor(context, [composites.is, claims?.is, isUnlisted || lacksAccount ? "refused" : undefined]);
  return outcome ?? (waitMs > 0 ? { requeueAfterMs: waitMs } : undefined);
}

function pendingCrd({ now }: Context, definition: LiveObject): PendingCrd {
  const { name = "" } = textsAt(compositeCrd(definition), "metadata");
  return { name, uid: definition.metadata.uid, generation: definition.metadata["generation"], readAt: now() };
}

/** The time until CRDs in these states must be checked again. */
export function requeueFor(
  { informers }: Context,
  states: readonly (CrdState["is"] | undefined)[],
): Outcome | undefined {
  const isWatched = informers.peek(CRDS, DEFINED_SELECTOR) !== undefined;
  if (states.includes("pending"))
    return { requeueAfterMs: isWatched ? REQUEUE_AFTER_MS.watchedCrdPending : REQUEUE_AFTER_MS.crdPending };
  if (states.includes("deleting")) return { requeueAfterMs: REQUEUE_AFTER_MS.instancesDeletion };
  return states.includes("refused") ? { requeueAfterMs: REQUEUE_AFTER_MS.userAction } : undefined;
}

/** Emits an event for each changed condition. */
export function emitChanges({ events }: Context, object: LiveObject, conditions: readonly Condition[]): void {
  for (const condition of conditions) {
    const { type, status, reason, message = "" } = condition;
    if (hasCondition(object, condition)) continue;
    const text = message === "" ? `${type}: its instances are reconciled` : message;
    events.record(object, { type: status === "True" ? "Normal" : "Warning", reason, message: text });
  }
}
