import { type ApiError, isApiError, type LiveObject } from "@xfn/kubernetes";
import { asCompositeError, type CompositeError } from "../../objects/composite-error.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import { type Propagation, planDeletion } from "../plan/plan-deletion.ts";
import { emitEvent } from "../state/emit-events.ts";
import { type ReconcileContext, readLive } from "../state/reconcile-context.ts";
import { executePlan } from "./execute-plan.ts";

/** What became of composed resources that were to be deleted. */
export interface Deletion {
  /** Those whose deletion has begun. */
  readonly deleting: number;
  readonly failures: readonly CompositeError[];
}

/**
 * Deletes composed resources that the XR controls. One that has changed since it was seen is read live and checked once
 * more: it may have another controller by now.
 *
 * @throws {ApiError} `Conflict` if it changed again
 */
export async function deleteObjects(
  context: ReconcileContext,
  objects: readonly LiveObject[],
  propagation: Propagation,
): Promise<Deletion> {
  const first = await deleteSeen(context, objects, propagation);
  if (first.changed.length === 0) return first;
  const current: LiveObject[] = [];
  const failures = [...first.failures];
  for (const { object } of first.changed) {
    try {
      const live = await readLive(context, context.actors.composition, referenceTo(object));
      if (live === undefined) context.memory.writes.sawGone(object.metadata.uid);
      else current.push(live);
    } catch (error) {
      failures.push(notDeleted(object, error));
    }
  }
  const second = await deleteSeen(context, current, propagation);
  for (const { error } of second.changed) throw error;
  return { deleting: first.deleting + second.deleting, failures: [...failures, ...second.failures] };
}

interface DeletionRound extends Deletion {
  /** Objects that were not as seen, each with the conflict. */
  readonly changed: readonly { readonly object: LiveObject; readonly error: ApiError }[];
}

async function deleteSeen(
  context: ReconcileContext,
  objects: readonly LiveObject[],
  propagation: Propagation,
): Promise<DeletionRound> {
  const plan = planDeletion(context.xr, objects, propagation);
  for (const object of plan.retained) {
    const title = describeReference(referenceTo(object));
    emitEvent(context, "Warning", `${title} is not controlled by this resource; it is not deleted`);
  }
  const { results } = await executePlan(context, plan);
  const changed: { object: LiveObject; error: ApiError }[] = [];
  const failures: CompositeError[] = [];
  let deleting = plan.deleting.length;
  for (const [action, result] of results) {
    if (action.do !== "delete") continue;
    if (result.is === "done") deleting++;
    if (result.is !== "failed") continue;
    if (isApiError(result.error, "Conflict")) changed.push({ object: action.seen, error: result.error });
    else failures.push(notDeleted(action.seen, result.error));
  }
  return { deleting, failures, changed };
}

function notDeleted(object: LiveObject, error: unknown): CompositeError {
  return asCompositeError(error, `cannot delete ${describeReference(referenceTo(object))}`, false);
}
