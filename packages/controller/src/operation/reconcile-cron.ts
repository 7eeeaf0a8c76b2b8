import type { LiveObject, Reconcile } from "@xfn/kubernetes";
import { CRON_OPERATIONS } from "../kinds/operations.ts";
import { type Condition, hasCondition, RECONCILE_ERROR } from "../objects/conditions.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findCached, findLive, isPaused } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import type { Part } from "../package/plan-status.ts";
import type { OperationPort } from "./operation-port.ts";
import { OwnOperations } from "./own-operations.ts";
import { lastRun, planCron } from "./plan-cron.ts";
import { runsOf, runsStatus } from "./plan-runs.ts";
import { PAUSED, SYNCED } from "./plan-status.ts";
import { parseSchedule, type Schedule, ScheduleError } from "./schedule.ts";
import { createOnce, deleteAll, writeStatus } from "./write-runs.ts";

/**
 * Reconciles CronOperations: creates an Operation at each time of the schedule, and deletes old ones. The key is the
 * name.
 */
export function cronOperationReconciler(port: OperationPort): Reconcile {
  const { access, events, now } = port;
  const own = new OwnOperations(access, now);
  return async (name, signal) => {
    const cached = await findCached(access, CRON_OPERATIONS, name, signal);
    if (cached === undefined || isBeingDeleted(cached)) return undefined;
    const write = (cron: LiveObject, part: Part): Promise<void> => writeStatus(port, cron, part, signal);
    if (isPaused(cached)) {
      await write(cached, { conditions: [scheduling("False", "SchedulePaused"), PAUSED], fields: {} });
      return undefined;
    }
    const operations = own.of(cached);
    const runs = runsOf(operations, CRON_OPERATIONS.of(cached).spec);
    await deleteAll(port, runs.collect, signal);
    const schedule = scheduleOf(cached);
    if (schedule instanceof ScheduleError) {
      const message = `spec.schedule: ${schedule.message}`;
      const invalid = scheduling("False", "ScheduleInvalid", message);
      if (!hasCondition(cached, invalid))
        events.record(cached, { type: "Warning", reason: "InvalidSchedule", message });
      const synced: Condition = { type: "Synced", status: "False", reason: RECONCILE_ERROR, message };
      await write(cached, {
        conditions: [invalid, synced],
        fields: runsStatus(runs, CRON_OPERATIONS.of(cached).status),
      });
      return undefined;
    }
    let cron = cached;
    let plan = planCron(cron, { runs, operations }, schedule, now());
    let { unfinished } = runs;
    let lastCreated = lastRun(runs, operations);
    if (plan.creation !== undefined) {
      // The cache may not show the status of the last reconcile.
      const live = await findLive(access, referenceTo(cron), signal);
      if (live?.metadata.uid !== cron.metadata.uid || isBeingDeleted(live)) return undefined;
      cron = live;
      plan = planCron(cron, { runs, operations }, schedule, now());
    }
    if (plan.creation !== undefined) {
      await deleteAll(port, plan.replaced, signal);
      const created = await createOnce(port, cron, plan.creation, signal);
      if (created !== undefined) own.created(created);
      lastCreated = now();
      unfinished = [...(plan.replaced.length > 0 ? [] : unfinished), ...(created === undefined ? [] : [created])];
    }
    const fields = runsStatus(
      { unfinished, lastCreated, lastSuccess: runs.lastSuccess },
      CRON_OPERATIONS.of(cron).status,
    );
    await write(cron, { conditions: [scheduling("True", "ScheduleActive"), SYNCED], fields });
    return { requeueAfterMs: Math.max(plan.nextAt - now(), 0) };
  };
}

function scheduleOf(cron: LiveObject): Schedule | ScheduleError {
  try {
    return parseSchedule(CRON_OPERATIONS.of(cron).spec.schedule ?? "");
  } catch (error) {
    if (error instanceof ScheduleError) return error;
    throw error;
  }
}

function scheduling(status: Condition["status"], reason: string, message?: string): Condition {
  return { type: "Scheduling", status, reason, message };
}
