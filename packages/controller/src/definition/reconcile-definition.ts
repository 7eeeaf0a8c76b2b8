import { claimCrd, compositeCrd, type Definition } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/functionio";
import type { LiveObject, Outcome, Reconcile } from "@xfn/kubernetes";
import { AppliedMemory } from "../objects/apply-changed.ts";
import { type Condition, conditionOf } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { DEFINITIONS } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED, FINALIZER_DEFINED, FINALIZER_OFFERED } from "../objects/labels.ts";
import { apiVersionOf, findLive } from "../objects/read-objects.ts";
import { type CrdState, ensureCrd } from "./definition-crd.ts";
import { type DefinitionMemory, keepRoles } from "./definition-roles.ts";
import { finalizersOf, setFinalizers, setStatus } from "./patch-definition.ts";
import { checkLiveDefinition } from "./read-definition.ts";
import { terminateDefinition } from "./terminate-definition.ts";

/** A CRD is established some tens of milliseconds after it has been written. */
const PENDING_MS = 50;
/** Instances take what their composed resources take; when the CRD has gone its watch tells at once. */
const GOING_MS = 1_000;
/** Somebody has to do something first. */
const REFUSED_MS = 10_000;

/**
 * Makes CustomResourceDefinitions of a CompositeResourceDefinition (seed 004; conditions and finalizers of Crossplane v1.13):
 * `Established` says that its composites are served, `Offered` that its claims are. A definition with errors, and one whose CRD
 * is another's, say so in their conditions and touch nothing. One that is deleted has its claims deleted, then its composites,
 * then the CRDs. The key is the definition's name.
 */
export function definitionReconciler(context: Context): Reconcile {
  const memories = new Map<string, DefinitionMemory>();
  return async (name, signal) => {
    const reference = { apiVersion: apiVersionOf(DEFINITIONS), kind: DEFINITIONS.kind, name };
    const object = await findLive(context, reference, signal);
    if (object === undefined) memories.delete(name);
    if (object === undefined || object.metadata.annotations?.[ANNOTATION_PAUSED] === "true") return undefined;
    if (object.metadata["deletionTimestamp"] !== undefined) return terminateDefinition(context, object, signal);
    const checked = checkLiveDefinition(object);
    if ("definition" in checked) {
      const memory = memories.get(name) ?? { applied: new AppliedMemory(), told: new Set() };
      memories.set(name, memory);
      return define(context, memory, object, checked.definition, signal);
    }
    const condition = {
      type: "Established",
      status: "False",
      reason: "InvalidDefinition",
      message: checked.problem,
    } as const;
    tell(context, object, [condition]);
    await setStatus(context, object, [condition], {}, signal);
    return undefined;
  };
}

async function define(
  context: Context,
  memory: DefinitionMemory,
  object: LiveObject,
  definition: Definition,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { claimNames, names } = definition.spec;
  const offers = claimNames !== undefined;
  // Before the first CRD: what is there to be removed is known then.
  const ours = [FINALIZER_DEFINED, ...(offers ? [FINALIZER_OFFERED] : [])];
  const missing = ours.filter((finalizer) => !finalizersOf(object).includes(finalizer));
  const current = await setFinalizers(context, object, [...finalizersOf(object), ...missing], signal);

  const composites = await ensureCrd(context, memory.applied, current, compositeCrd(object), signal);
  const claims = offers ? await ensureCrd(context, memory.applied, current, claimCrd(object), signal) : undefined;
  const established = composites.is === "established";
  if (established) await keepRoles(context, memory, current, definition, signal);

  // Claims are of no use before there are composites; and conditions are told in the same order always.
  const tellsClaims = claims !== undefined && (established || composites.is === "refused");
  const conditions = [
    conditionFor("Established", "WatchingCompositeResource", composites),
    ...(!tellsClaims ? [] : [conditionFor("Offered", "WatchingCompositeResourceClaim", claims)]),
  ];
  const said = conditions.filter((condition) => condition !== undefined);
  tell(context, current, said);
  await setStatus(
    context,
    current,
    said,
    {
      ...(established && { compositeResourceType: typeOf(definition, names.kind) }),
      ...(claims?.is === "established" && { compositeResourceClaimType: typeOf(definition, claimNames?.kind ?? "") }),
    },
    signal,
  );
  const states = [composites.is, claims?.is];
  if (states.includes("pending")) return { requeueAfterMs: PENDING_MS };
  if (states.includes("going")) return { requeueAfterMs: GOING_MS };
  return states.includes("refused") ? { requeueAfterMs: REFUSED_MS } : undefined;
}

/** Nothing is said of a CRD that will be established in a moment. */
function conditionFor(type: string, reason: string, state: CrdState): Condition | undefined {
  if (state.is === "established") return { type, status: "True", reason };
  return state.is === "refused" ? { type, status: "False", reason: state.reason, message: state.message } : undefined;
}

/** An event for each condition that is new. */
function tell({ events }: Context, object: LiveObject, conditions: readonly Condition[]): void {
  for (const { type, status, reason, message = "" } of conditions) {
    const before = conditionOf(object, type);
    if (before?.["reason"] === reason && (before["message"] ?? "") === message) continue;
    const text = message === "" ? `${type}: its instances are reconciled` : message;
    events.record(object, { type: status === "True" ? "Normal" : "Warning", reason, message: text });
  }
}

function typeOf({ spec }: Definition, kind: string): JsonObject {
  const version = spec.versions.find(({ referenceable }) => referenceable)?.name ?? "";
  return { apiVersion: `${spec.group}/${version}`, kind };
}
