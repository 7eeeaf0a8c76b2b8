import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { CRON_OPERATIONS } from "../kinds/operations.ts";
import { labelValue } from "../objects/labels.ts";
import type { Action } from "../plan/action.ts";
import { creationOf, deletionOf, latest, type Runs, templateSpec } from "./plan-runs.ts";
import type { Schedule } from "./schedule.ts";

const LABEL_CRON = "ops.crossplane.io/cronoperation";

/** The Operations that a CronOperation deletes and creates now, and its next time. */
export interface CronPlan {
  /** Deletions of running Operations that the new one replaces. */
  readonly replaced: readonly Action[];
  /** Undefined if none is due, or the concurrency policy forbids it. */
  readonly creation: Action | undefined;
  /** Milliseconds since the epoch. */
  readonly nextAt: number;
}

/**
 * Plans the Operation that is due. Only the first of several missed times within the deadline has one. Its name has its
 * time, so that a time has at most one.
 *
 * @param now milliseconds since the epoch
 */
export function planCron(
  cron: LiveObject,
  { runs, operations }: { readonly runs: Runs; readonly operations: readonly LiveObject[] },
  schedule: Schedule,
  now: number,
): CronPlan {
  const { spec, status } = CRON_OPERATIONS.of(cron);
  const { concurrencyPolicy, startingDeadlineSeconds } = spec;
  const last = latest([
    Date.parse(textAt(cron.metadata, "creationTimestamp") ?? ""),
    Date.parse(status.lastScheduleTime ?? ""),
    lastRun(runs, operations),
  ]);
  const earliest = startingDeadlineSeconds === undefined ? 0 : now - startingDeadlineSeconds * 1_000;
  const due = schedule.next(Math.max(Number.isNaN(last) ? now : last, earliest));
  if (due > now) return { replaced: [], creation: undefined, nextAt: due };
  const nextAt = schedule.next(now);
  if (concurrencyPolicy === "Forbid" && runs.unfinished.length > 0)
    return { replaced: [], creation: undefined, nextAt };
  const replaced = concurrencyPolicy === "Replace" ? runs.unfinished : [];
  const { name } = cron.metadata;
  const creation = creationOf(cron, spec, {
    name: `${name}-${Math.floor(due / 1_000)}`,
    labels: { [LABEL_CRON]: labelValue(name) },
    spec: templateSpec(spec),
    why: "it is due",
  });
  return { replaced: replaced.map((one) => deletionOf(one, "a new Operation replaces it")), creation, nextAt };
}

/** The last time that has an Operation, in milliseconds; NaN if none has. The clock of the API server can be behind. */
export function lastRun({ lastCreated }: Pick<Runs, "lastCreated">, operations: readonly LiveObject[]): number {
  return latest([lastCreated, ...operations.map(scheduledAt)]);
}

/** The time in the name of an Operation, in milliseconds; NaN for another name. */
function scheduledAt({ metadata: { name } }: LiveObject): number {
  const seconds = /-(\d{1,12})$/.exec(name)?.[1];
  return seconds === undefined ? Number.NaN : Number(seconds) * 1_000;
}
