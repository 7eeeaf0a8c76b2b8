import { textAt } from "@xfn/json";
import { type Client, type EventRecorder, type Informers, isApiError, type LiveObject } from "@xfn/kubernetes";
import { reservedGroupOwner } from "@xfn/package/reserved-groups";
import { type CrdState, stateOf as stateOfCrd } from "../definition/definition-crd.ts";
import { ApplyCache } from "../objects/apply-cache.ts";
import { CRDS, MANAGED_DEFINITIONS, PROVIDER_REVISIONS, referenceOf } from "../objects/kinds.ts";
import { controllerOf, isBeingDeleted } from "../objects/owner.ts";
import { findCached, findLive, isPaused } from "../objects/read-objects.ts";
import { type PolledOutcome, type PolledReconcile, REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { adoptionProblem } from "../package/adopt-object.ts";
import { carryOut } from "../package/carry-out.ts";
import { crdOf } from "../package/managed/managed-definition.ts";
import { CRD_CACHE, DEFINITION_CACHE, observationOf, observed, stateOf } from "../package/managed/observed-state.ts";
import { servedElsewhere } from "../package/served-elsewhere.ts";
import { executeOne } from "../plan/execute.ts";
import { belongsTo, planManagedCrd, planObserved } from "./plan-managed.ts";

/** The needs of the reconcilers of managed resources. */
export interface ManagedPort {
  readonly client: Client;
  readonly informers: Informers;
  readonly events: EventRecorder;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Reconciles the CRD of ManagedResourceDefinitions. The key is the name, which the CRD has too. An inactive definition
 * has no CRD, but leaves one that exists.
 */
export function managedReconciler(port: ManagedPort): PolledReconcile {
  const applies = new ApplyCache();
  return async (name, signal) => {
    const cached = port.informers.peek(MANAGED_DEFINITIONS, DEFINITION_CACHE)?.get(name);
    if (cached !== undefined && isSettled(port, cached)) return { settled: "again" };
    const definition = await findLive(port, referenceOf(MANAGED_DEFINITIONS, name), signal);
    if (definition === undefined) return undefined;
    if (isBeingDeleted(definition)) return report(port, definition, "terminating", undefined, signal);
    if (isPaused(definition)) {
      port.events.record(definition, PAUSED);
      return undefined;
    }
    if (textAt(definition, "spec", "state") !== "Active")
      return report(port, definition, "inactive", undefined, signal);
    const { state, crd } = await ensureCrd(port, applies, definition, signal);
    return report(port, definition, state, crd, signal);
  };
}

/** The event of a paused object, as in Crossplane. */
export const PAUSED = {
  type: "Normal",
  reason: "ReconciliationPaused",
  message: "the annotation crossplane.io/paused pauses reconciliation",
} as const;

/** Whether the caches show nothing that has changed since the status was written. */
function isSettled({ informers }: ManagedPort, definition: LiveObject): boolean {
  if (isBeingDeleted(definition) || isPaused(definition)) return false;
  if (stateOf(definition) !== "Active") return stateOf(definition) === "Inactive";
  const crd = informers.peek(CRDS, CRD_CACHE)?.get(definition.metadata.name);
  if (crd === undefined || isBeingDeleted(crd)) return false;
  // A new revision with the same schema changes the controller alone.
  const hasController = controllerOf(crd)?.uid === controllerOf(definition)?.uid;
  return hasController && observed(definition) === observationOf(definition, crd);
}

async function report(
  port: ManagedPort,
  definition: LiveObject,
  state: Parameters<typeof planObserved>[1],
  crd: LiveObject | undefined,
  signal: AbortSignal,
): Promise<PolledOutcome | undefined> {
  await carryOut(port, definition, planObserved(definition, state, crd, port.now()), signal);
  if (typeof state === "string" || state.is === "established") return undefined;
  if (state.is === "refused") return { requeueAfterMs: REQUEUE_AFTER_MS.userAction };
  const isWatched = port.informers.peek(CRDS, CRD_CACHE) !== undefined;
  return { requeueAfterMs: isWatched ? REQUEUE_AFTER_MS.watchedCrdPending : REQUEUE_AFTER_MS.crdPending };
}

/** The state of a CRD, and the CRD if the API server serves it. */
interface EnsuredCrd {
  readonly state: CrdState;
  readonly crd?: LiveObject | undefined;
}

async function ensureCrd(
  port: ManagedPort,
  applies: ApplyCache,
  definition: LiveObject,
  signal: AbortSignal,
): Promise<EnsuredCrd> {
  const { client, events } = port;
  const existing = await findLive(port, referenceOf(CRDS, definition.metadata.name), signal);
  const problem = await problemOf(port, definition, existing, signal);
  if (problem !== undefined) return { state: refused(problem) };
  if (existing !== undefined && isBeingDeleted(existing)) return { state: { is: "deleting" } };
  const action = planManagedCrd(definition, existing, applies);
  let crd = existing;
  try {
    crd = (await executeOne(port, action, signal)) ?? existing;
  } catch (error) {
    if (!isApiError(error, "Invalid", "Forbidden")) throw error;
    return { state: refused(`the API server refuses the CustomResourceDefinition: ${error.message}`) };
  }
  if (crd === undefined) return { state: { is: "pending" } };
  if (action !== undefined) {
    applies.record(action.intent, crd, { fieldManager: action.manager });
    client.forgetKinds();
    const message = "the CustomResourceDefinition is applied";
    events.record(definition, { type: "Normal", reason: "ApplyCustomResourceDefinition", message });
  }
  const state = stateOfCrd(crd);
  return { state, crd: state.is === "established" ? crd : undefined };
}

function refused(message: string): CrdState {
  return { is: "refused", reason: "PendingManagedResource", message };
}

/** Why a definition must not have its CRD; undefined if it may. */
async function problemOf(
  port: ManagedPort,
  definition: LiveObject,
  existing: LiveObject | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const group = textAt(definition, "spec", "group") ?? "";
  const reserved = reservedGroupOwner(group);
  if (reserved !== undefined) return `the API group ${group} belongs to ${reserved}; define the kind in another group`;
  const title = `the CustomResourceDefinition ${definition.metadata.name}`;
  if (existing === undefined) {
    const version = await servedElsewhere(port.client, crdOf(definition), signal);
    if (version === undefined) return undefined;
    return `${title} does not exist, but this API server serves its kind in ${version}: an aggregated API does; remove that`;
  }
  if (belongsTo(existing, definition)) return undefined;
  const owner = controllerOf(existing);
  if (owner !== undefined)
    return `${title} belongs to ${owner.kind} ${owner.name} and is left alone; delete that one, or this definition`;
  const revision = controllerOf(definition);
  const package_ = revision && (await findCached(port, PROVIDER_REVISIONS, revision.name, signal));
  const why = await adoptionProblem(port, package_ ?? definition, existing, signal);
  return why && `${title} exists and is left alone, because ${why}; delete it, or this definition`;
}
