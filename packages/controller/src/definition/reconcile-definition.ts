import { claimCrd, compositeCrd, type Definition } from "@xfn/composition/definition";
import type { LiveObject, Outcome, Reconcile, ResourceKind } from "@xfn/kubernetes";
import { ApplyCache } from "../objects/apply-cache.ts";
import { type Condition, hasCondition } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { claimKindOf } from "../objects/definition-kinds.ts";
import { finalizersOf } from "../objects/finalizers.ts";
import { CRDS, DEFINITIONS, definitionKey, referenceOf } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED, DEFINED_SELECTOR } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { type CrdState, ensureCrd } from "./definition-crd.ts";
import { type DefinitionMemory, ensureRoles } from "./definition-roles.ts";
import { definitionStatus, invalidCondition, missingFinalizers } from "./definition-status.ts";
import { setFinalizers, setStatus } from "./patch-definition.ts";
import { checkLiveDefinition } from "./read-definition.ts";
import { isDefinitionSettled } from "./settled-definition.ts";
import { terminateDefinition } from "./terminate-definition.ts";

/**
 * Reconciles the CustomResourceDefinitions of definitions of a kind. The key is the name.
 *
 * Conditions and finalizers are those of Crossplane v1.13: `Established` means that its composites are served,
 * `Offered` that its claims are. A definition that has errors, or whose CRD has another owner, only gets conditions.
 * A deleted definition deletes its claims, then its composites, then the CRDs.
 */
export function definitionReconciler(context: Context, kind: ResourceKind = DEFINITIONS): Reconcile {
  const memories = new Map<string, DefinitionMemory>();
  return async (name, signal) => {
    if (isDefinitionSettled(context, memories.get(name), kind, name)) return undefined;
    const object = await findLive(context, referenceOf(kind, name), signal);
    if (object === undefined) memories.delete(name);
    if (object === undefined || object.metadata.annotations?.[ANNOTATION_PAUSED] === "true") return undefined;
    if (isBeingDeleted(object)) return terminateDefinition(context, object, signal);
    const checked = checkLiveDefinition(object);
    if ("definition" in checked) {
      const memory = memories.get(name) ?? { applies: new ApplyCache(), emitted: new Set() };
      memories.set(name, memory);
      return ensureDefinition(context, memory, object, checked.definition, signal);
    }
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

  const composites = await ensureCrd(context, memory.applies, current, compositeCrd(object), signal);
  const claims = claimKind && (await ensureCrd(context, memory.applies, current, claimCrd(object), signal));
  const established = composites.is === "established";
  if (established) await ensureRoles(context, memory, current, definition, signal);

  const problems = context.instanceProblems?.(definitionKey(definition, object.metadata.name)) ?? {};
  const { conditions, controllers } = definitionStatus(definition, composites, claims, problems);
  emitChanges(context, current, conditions);
  await setStatus(context, current, conditions, controllers, signal);
  const isUnlisted = problems.composites !== undefined || problems.claims !== undefined;
  return requeueFor(context, [composites.is, claims?.is, isUnlisted ? "refused" : undefined]);
}

/** When to look at CRDs in these states again. */
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

/** Emits an event for each condition that changes. */
export function emitChanges({ events }: Context, object: LiveObject, conditions: readonly Condition[]): void {
  for (const condition of conditions) {
    const { type, status, reason, message = "" } = condition;
    if (hasCondition(object, condition)) continue;
    const text = message === "" ? `${type}: its instances are reconciled` : message;
    events.record(object, { type: status === "True" ? "Normal" : "Warning", reason, message: text });
  }
}
