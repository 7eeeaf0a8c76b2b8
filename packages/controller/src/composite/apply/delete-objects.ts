import { type ApiError, isApiError, type LiveObject } from "@xfn/kubernetes";
import { asCompositeError, type CompositeError } from "../../objects/composite-error.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import type { Outcome } from "../../plan/outcome.ts";
import { type DeletionPlan, type Propagation, planDeletion } from "../plan/plan-deletion.ts";
import type { ActorName } from "../state/composite-actors.ts";
import type { PlanWriter } from "../state/plan-writer.ts";
import type { ReconcileReader } from "../state/reconcile-reader.ts";

/** The outcome of the deletion of composed resources. */
export interface Deletion {
  /** The number of objects whose deletion has begun. */
  readonly deleting: number;
  readonly failures: readonly CompositeError[];
  /** Warnings about objects that were not deleted. */
  readonly notes: readonly string[];
}

/** The rights with which composed resources are read and deleted. */
interface Deleting {
  readonly reader: ReconcileReader;
  readonly writer: PlanWriter;
}

/**
 * Deletes composed resources that the XR controls.
 *
 * @throws {ApiError} `Conflict` if an object changed repeatedly
 */
export async function deleteObjects(
  port: Deleting,
  xr: LiveObject,
  objects: readonly LiveObject[],
  propagation: Propagation,
): Promise<Deletion> {
  const plan = planDeletion(xr, objects, propagation);
  return await finishDeletion(port, xr, plan, await port.writer.execute(plan));
}

/**
 * Reports the outcome of a deletion. An object that has changed since it was seen is read live and checked once more:
 * it may have another controller by now.
 *
 * @throws {ApiError} `Conflict` if it changed again
 */
export async function finishDeletion(
  { reader, writer }: Deleting,
  xr: LiveObject,
  plan: DeletionPlan,
  outcome: Outcome<ActorName>,
): Promise<Deletion> {
  const first = report(plan, outcome);
  if (first.changed.length === 0) return first;
  const current: LiveObject[] = [];
  const failures = [...first.failures];
  for (const { object } of first.changed) {
    try {
      const live = await reader.readLive(referenceTo(object));
      if (live === undefined) writer.forget(object);
      else current.push(live);
    } catch (error) {
      failures.push(notDeleted(object, error));
    }
  }
  const next = planDeletion(xr, current, plan.propagation);
  const second = report(next, await writer.execute(next));
  for (const { error } of second.changed) throw error;
  return {
    deleting: first.deleting + second.deleting,
    failures: [...failures, ...second.failures],
    notes: [...first.notes, ...second.notes],
  };
}

interface DeletionReport extends Deletion {
  /** Objects that changed after they were observed, each with the conflict. */
  readonly changed: readonly { readonly object: LiveObject; readonly error: ApiError }[];
}

function report(plan: DeletionPlan, { results }: Outcome<ActorName>): DeletionReport {
  const changed: { object: LiveObject; error: ApiError }[] = [];
  const failures: CompositeError[] = [];
  let deleting = plan.deleting.length;
  const notes = plan.retained.map((object) => {
    const title = describeReference(referenceTo(object));
    return `${title} is not controlled by this resource; it is not deleted`;
  });
  for (const { actions } of plan.stages) {
    for (const action of actions) {
      const result = results.get(action);
      if (result?.is === "done") deleting++;
      if (result?.is !== "failed" || action.do !== "delete") continue;
      if (isApiError(result.error, "Conflict")) changed.push({ object: action.seen, error: result.error });
      else failures.push(notDeleted(action.seen, result.error));
    }
  }
  return { deleting, failures, notes, changed };
}

function notDeleted(object: LiveObject, error: unknown): CompositeError {
  return asCompositeError(error, `cannot delete ${describeReference(referenceTo(object))}`, false);
}
