import { isApiError, type Outcome } from "@xfn/kubernetes";
import { PipelineError } from "@xfn/pipeline";
import { combineFailures } from "../objects/composite-error.ts";
import { compositeKindOf } from "../objects/definition-kinds.ts";
import { hasElapsed } from "../objects/elapsed.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { isPaused } from "../objects/read-objects.ts";
import { SelectionError } from "../revision/selection-error.ts";
import { applyRun } from "./apply/apply-run.ts";
import { cachedCondition, conditionsAfter, pausedConditions } from "./apply/composite-conditions.ts";
import { type Report, writeStatus } from "./apply/composite-status.ts";
import { planRun } from "./apply/plan-run.ts";
import { composeSelected } from "./compose-selected.ts";
import { deleteComposite } from "./delete-composite.ts";
import { newRequest } from "./plan/plan-status.ts";
import { completedRun } from "./state/completed-run.ts";
import type { CompositeMemory } from "./state/composite-memory.ts";
import type { CompositePort, Subject } from "./state/composite-port.ts";
import { explain } from "./state/missing-rights.ts";

/**
 * A runner without a free slot is not a problem of an XR, and usually recovers within seconds. The XR reports it only
 * after this time: a write and an event for each refusal would add load when the load is highest.
 */
const SHOWN_REFUSAL_MS = 60_000;

/** Reconciles an XR: composes and applies, or deletes, and reports the result in its status. */
export async function reconcileComposite(port: CompositePort, subject: Subject): Promise<Outcome | undefined> {
  const { clock, shown } = port;
  const { memory, xr: before } = subject;
  let report: Report | undefined;
  try {
    report = isPaused(before) ? { status: { conditions: pausedConditions(shown) } } : await reportOf(port, subject);
    if (report.status !== undefined) await writeStatus(port, subject, report.status);
    if (report.completed !== undefined)
      memory.completed = await completedRun(port, { ...report.completed, before, xr: subject.xr });
  } catch (error) {
    shown.secrets.scrubError(error);
    if (clock.signal.aborted || isPaused(before) || isApiError(error, "Conflict")) throw error;
    if (isShortRefusal(memory, clock.now(), error)) throw error;
    const explained = await explain(port, subject, error);
    const isAwaited = error instanceof SelectionError && error.isAwaited;
    if (!isAwaited) shown.warn(`cannot compose resources: ${explained.message}`);
    // Report readiness even if the server rejects the function's status.
    await writeStatus(port, subject, { conditions: conditionsAfter(shown, explained, report?.readiness) });
    if (isAwaited) return undefined;
    throw error;
  }
  if (report.failure !== undefined) throw report.failure;
  return report.outcome?.();
}

async function reportOf(port: CompositePort, subject: Subject): Promise<Report> {
  const { actors, clock, shown } = port;
  const { definition, memory, xr } = subject;
  const request = newRequest(xr);
  if (request !== undefined) shown.report(`handled the reconcile request ${request}`, "ReconcileRequestHandled");
  if (isBeingDeleted(xr)) return await deleteComposite(port, subject);
  await actors.xr.require(compositeKindOf(definition), xr, clock.signal);
  const composed = await composeSelected(port, subject);
  const plan = await planRun(port, subject, composed);
  const { applied, published, failures, readiness, ttlMs } = await applyRun(port, subject, composed, plan);
  const failure = combineFailures(failures);
  shown.secrets.scrubError(failure);
  const explained = failure && (await explain(port, subject, failure));
  if (explained !== undefined) shown.warn(`cannot compose resources: ${explained.message}`);
  else if (shown.hasWritten) shown.report("Successfully composed resources");
  const conditions = [...conditionsAfter(shown, explained, readiness), ...cachedCondition(shown, subject.xr)];
  const { composition } = composed;
  return {
    status: { desired: plan.desired, published, conditions },
    readiness,
    failure,
    completed: failure === undefined && readiness.status === "True" ? { applied, composition } : undefined,
    outcome: () => {
      const waits = [memory.writes.requeueAfterMs, shown.slowedMs, ttlMs].filter((ms) => ms !== undefined);
      return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
    },
  };
}

/** Whether a runner has refused the run for only a short time. */
function isShortRefusal(memory: CompositeMemory, now: number, error: unknown): boolean {
  if (!(error instanceof PipelineError) || !error.undelivered || error.retryAfterMs === undefined) {
    memory.refusedSince = undefined;
    return false;
  }
  memory.refusedSince ??= now;
  return !hasElapsed(memory.refusedSince, now, SHOWN_REFUSAL_MS);
}
