import { ApiError, isApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import { digestOf } from "../../objects/apply-cache.ts";
import { asCompositeError, CompositeError } from "../../objects/composite-error.ts";
import { isSecret } from "../../objects/kinds.ts";
import { describeReference, objectKey, referenceTo } from "../../objects/references.ts";
import type { Outcome } from "../../plan/outcome.ts";
import { applyTitle } from "../plan/applicable.ts";
import { ownershipProblem } from "../plan/ownership.ts";
import type { CompositePlan } from "../plan/plan-composite.ts";
import { isAdoption, type PlannedEntry } from "../plan/plan-entry.ts";
import type { ActorName } from "../state/composite-actors.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";
import type { FightBreaker } from "../state/fight-breaker.ts";
import type { ReconcileReader } from "../state/reconcile-reader.ts";
import type { Shown } from "../state/shown.ts";
import { finishDeletion } from "./delete-objects.ts";

/** The outcome of an XR's plan. */
export interface CarriedOut {
  /** The composed resources after the apply, by entry. */
  readonly objects: ReadonlyMap<string, LiveObject>;
  /** The entries that could not be applied. */
  readonly failed: readonly string[];
  readonly failures: readonly CompositeError[];
}

/**
 * Executes the plan of an XR.
 *
 * @throws {CompositeError} `TooManyResources` if the XR is too large
 * @throws {ApiError} if the XR cannot be recorded, or if an object cannot be read; `Conflict` if an object was replaced
 *   or deleted
 */
export async function carryOut(port: CompositePort, subject: Subject, plan: CompositePlan): Promise<CarriedOut> {
  const { actors, shown, writer } = port;
  const { memory } = subject;
  const reader = actors.reader("composition");
  await watchKinds(actors.xr, memory.uid, plan.references);
  const outcome = await writer.execute(plan);
  requireRecord(plan, outcome);
  subject.xr = outcome.latest(referenceTo(subject.xr)) ?? subject.xr;
  const objects = new Map<string, LiveObject>();
  const failed = new Map<string, CompositeError>();
  const thrown: ApiError[] = [];
  for (const planned of plan.entries) {
    noteFight(shown, memory.fights, planned, outcome);
    const found = await resultOf(reader, subject.xr, planned, outcome);
    if (found instanceof ApiError) thrown.push(found);
    else if (found instanceof Error) failed.set(planned.entry, found);
    else {
      objects.set(planned.entry, found);
      // A write that the circuit breaker delays adopts nothing.
      if (isAdoption(planned, found))
        shown.addAdoption(subject.xr, `composed resource ${JSON.stringify(planned.entry)}`, found);
    }
  }
  const [error] = [...thrown.filter((one) => one.code === "Conflict"), ...thrown];
  if (error !== undefined) throw error;
  const applied = { objects, failed: [...failed.keys()] };
  if (failed.size > 0) return { ...applied, failures: [...failed.values()] };
  const { failures, notes } = await finishDeletion({ reader, writer }, subject.xr, plan.deletion, outcome);
  for (const note of notes) shown.warn(note);
  return { ...applied, failures };
}

/** Starts the watches before the objects exist, so that no event is missed. */
async function watchKinds(
  { client, composed }: Pick<Actor, "client" | "composed">,
  uid: string,
  references: readonly ObjectReference[],
): Promise<void> {
  const kinds = await Promise.all(
    references.map(({ apiVersion, kind }) => client.kind(apiVersion, kind).catch(() => undefined)),
  );
  composed.watch(
    uid,
    kinds.filter((kind) => kind !== undefined),
  );
}

/** @throws {CompositeError | ApiError} */
function requireRecord({ references, stages }: CompositePlan, { results }: Outcome<ActorName>): void {
  for (const action of stages[0]?.actions ?? []) {
    const result = results.get(action);
    if (result?.is !== "failed") continue;
    const { error } = result;
    // The limits of the API server, 3 MiB, and of etcd, 1.5 MiB.
    const isTooLarge = error.status === 413 || error.message.endsWith("request is too large");
    if (!isTooLarge) throw error;
    const message = `the XR is too large with its references to ${references.length} composed resources: ${error.message}; compose fewer, such as XRs that compose the resources`;
    throw new CompositeError("TooManyResources", message, { cause: error });
  }
}

/** The object of an entry after the apply, or why it is not as desired. An `ApiError` ends the reconcile. */
async function resultOf(
  reader: ReconcileReader,
  xr: LiveObject,
  planned: PlannedEntry,
  { latest, results }: Outcome<ActorName>,
): Promise<LiveObject | CompositeError | ApiError> {
  const { entry, intent, existing, refusal } = planned;
  if (refusal !== undefined) return refusal;
  for (const action of planned.actions) {
    const result = results.get(action);
    if (result?.is !== "failed") continue;
    const { error } = result;
    if (isApiError(error, "Conflict")) return error;
    const reference = referenceTo(intent);
    // The server rejects a second controller as invalid: another writer was faster, or created an object with this
    // name.
    const problem = isApiError(error, "Invalid")
      ? ownershipProblem(xr, entry, await reader.readLive(reference))
      : undefined;
    return problem ?? asCompositeError(error, applyTitle(entry), isSecret(intent), describeReference(reference));
  }
  const object = latest(referenceTo(intent)) ?? existing;
  if (object === undefined) throw new TypeError(`the plan has no write for the entry ${entry}, which has no object`);
  return object;
}

/**
 * Reports a write to the circuit breaker. A refused write does not count: the queue slows it, and it stays a failure.
 */
function noteFight(
  shown: Shown,
  breaker: FightBreaker,
  { actions, fight, intent }: PlannedEntry,
  { results }: Outcome<ActorName>,
): void {
  if (fight?.message !== undefined) shown.fights.push(fight.message);
  if (fight?.waitMs !== undefined) shown.slow(fight.waitMs);
  const isWritten = actions.some((action) => action.do === "apply" && results.get(action)?.is === "done");
  if (isWritten) breaker.wrote(objectKey(referenceTo(intent)), digestOf(intent));
}
