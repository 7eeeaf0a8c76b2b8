import { claimCrd, compositeCrd, type Definition } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/functionio";
import type { LiveObject, Outcome, Reconcile } from "@xfn/kubernetes";
import { ApplyCache } from "../objects/apply-cache.ts";
import { type Condition, conditionOf } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { claimKindOf, compositeKindOf } from "../objects/definition-kinds.ts";
import { FINALIZER_DEFINED, FINALIZER_OFFERED, finalizersOf } from "../objects/finalizers.ts";
import { DEFINITIONS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { type CrdState, ensureCrd } from "./definition-crd.ts";
import { type DefinitionMemory, ensureRoles } from "./definition-roles.ts";
import { setFinalizers, setStatus } from "./patch-definition.ts";
import { checkLiveDefinition } from "./read-definition.ts";
import { terminateDefinition } from "./terminate-definition.ts";

/**
 * Reconciles the CustomResourceDefinitions of a CompositeResourceDefinition. The key is its name.
 *
 * Conditions and finalizers are those of Crossplane v1.13: `Established` means that its composites are served,
 * `Offered` that its claims are. A definition that has errors, or whose CRD has another owner, only gets conditions.
 * A deleted definition deletes its claims, then its composites, then the CRDs.
 */
export function definitionReconciler(context: Context): Reconcile {
  const memories = new Map<string, DefinitionMemory>();
  return async (name, signal) => {
    const object = await findLive(context, referenceOf(DEFINITIONS, name), signal);
    if (object === undefined) memories.delete(name);
    if (object === undefined || object.metadata.annotations?.[ANNOTATION_PAUSED] === "true") return undefined;
    if (isBeingDeleted(object)) return terminateDefinition(context, object, signal);
    const checked = checkLiveDefinition(object);
    if ("definition" in checked) {
      const memory = memories.get(name) ?? { applies: new ApplyCache(), emitted: new Set() };
      memories.set(name, memory);
      return ensureDefinition(context, memory, object, checked.definition, signal);
    }
    const condition = {
      type: "Established",
      status: "False",
      reason: "InvalidDefinition",
      message: checked.problem,
    } as const;
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
  const required = [FINALIZER_DEFINED, ...(claimKind === undefined ? [] : [FINALIZER_OFFERED])];
  const existing = finalizersOf(object);
  const missing = required.filter((finalizer) => !existing.includes(finalizer));
  const current = await setFinalizers(context, object, [...existing, ...missing], signal);

  const composites = await ensureCrd(context, memory.applies, current, compositeCrd(object), signal);
  const claims = claimKind && (await ensureCrd(context, memory.applies, current, claimCrd(object), signal));
  const established = composites.is === "established";
  if (established) await ensureRoles(context, memory, current, definition, signal);

  // Claims depend on composites, so their condition follows: conditions always have the same order.
  const reportsClaims = claims !== undefined && (established || composites.is === "refused");
  const conditions = [
    conditionFor("Established", "WatchingCompositeResource", composites),
    reportsClaims ? conditionFor("Offered", "WatchingCompositeResourceClaim", claims) : undefined,
  ].filter((condition) => condition !== undefined);
  const controllers: JsonObject = {
    ...(established && { compositeResourceType: typeMeta(compositeKindOf(definition)) }),
    ...(claimKind && claims?.is === "established" && { compositeResourceClaimType: typeMeta(claimKind) }),
  };
  emitChanges(context, current, conditions);
  await setStatus(context, current, conditions, controllers, signal);
  return requeueFor([composites.is, claims?.is]);
}

function requeueFor(states: readonly (CrdState["is"] | undefined)[]): Outcome | undefined {
  if (states.includes("pending")) return { requeueAfterMs: REQUEUE_AFTER_MS.crdPending };
  if (states.includes("deleting")) return { requeueAfterMs: REQUEUE_AFTER_MS.instancesDeletion };
  return states.includes("refused") ? { requeueAfterMs: REQUEUE_AFTER_MS.userAction } : undefined;
}

/** @returns undefined for a CRD that is about to change its state */
function conditionFor(type: string, reason: string, state: CrdState): Condition | undefined {
  if (state.is === "established") return { type, status: "True", reason };
  return state.is === "refused" ? { type, status: "False", reason: state.reason, message: state.message } : undefined;
}

/** Emits an event for each condition that changes. */
function emitChanges({ events }: Context, object: LiveObject, conditions: readonly Condition[]): void {
  for (const { type, status, reason, message = "" } of conditions) {
    const before = conditionOf(object, type);
    if (before?.["reason"] === reason && (before["message"] ?? "") === message) continue;
    const text = message === "" ? `${type}: its instances are reconciled` : message;
    events.record(object, { type: status === "True" ? "Normal" : "Warning", reason, message: text });
  }
}
