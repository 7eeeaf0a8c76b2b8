import { isBeingDeleted } from "../../objects/owner.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import { execute } from "../../plan/execute.ts";
import { firstFailure, type Outcome, type Result } from "../../plan/outcome.ts";
import type { Plan } from "../../plan/plan.ts";
import type { ActorName, ReconcileContext } from "../state/reconcile-context.ts";

/** Executes a plan of an XR's reconcile, and retains the server's answers until the caches show them. */
export async function executePlan(context: ExecutionContext, plan: Plan<ActorName>): Promise<Outcome<ActorName>> {
  const { actors, memory, progress, signal } = context;
  return await execute(plan, {
    actors,
    signal,
    onResult: (action, result) => {
      remember(memory, action, result);
      progress.hasWritten ||= result.is === "done" && action.do !== "confirm" && action.part === undefined;
    },
  });
}

/**
 * Executes a plan in which every failure ends the reconcile, and updates the context's XR with the written state.
 *
 * @throws {ApiError}
 */
export async function executeOrThrow(context: ReconcileContext, plan: Plan<ActorName>): Promise<void> {
  const outcome = await executePlan(context, plan);
  const failed = firstFailure(outcome);
  if (failed !== undefined) throw failed.error;
  context.xr = outcome.latest(referenceTo(context.xr)) ?? context.xr;
}

/** The parts of a reconcile that the execution of a plan needs. */
export type ExecutionContext = Pick<ReconcileContext, "actors" | "memory" | "progress" | "signal">;

function remember(
  { applies, writes }: Pick<ReconcileContext["memory"], "applies" | "writes">,
  action: Action<ActorName>,
  result: Result,
): void {
  if (result.is !== "done" && result.is !== "gone") return;
  const object = result.is === "done" ? result.object : undefined;
  if (action.do === "delete") {
    const { uid } = action.seen.metadata;
    applies.forget(uid);
    if (object === undefined || !isBeingDeleted(object)) writes.sawGone(uid);
    else writes.saw(object);
  } else if (object !== undefined) {
    writes.saw(object);
    if (action.do === "apply")
      applies.record(action.intent, object, { fieldManager: action.manager, subresource: action.part });
  }
}
