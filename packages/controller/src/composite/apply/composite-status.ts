import type { Outcome } from "@xfn/kubernetes";
import type { CompositeError } from "../../objects/composite-error.ts";
import type { Condition } from "../../objects/conditions.ts";
import { conditionsOf, planStatus, type StatusUpdate } from "../plan/plan-status.ts";
import type { EndedRun } from "../state/completed-run.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";

/** The result of a reconcile, before its status is written. */
export interface Report {
  /** Absent: the status stays. */
  readonly status?: StatusUpdate;
  /** The condition `Ready`; absent if the reconcile has not determined it. */
  readonly readiness?: Condition;
  /** Thrown after the status is written. */
  readonly failure?: CompositeError | undefined;
  /** Absent unless the XR is Ready. */
  readonly completed?: Pick<EndedRun, "applied" | "composition"> | undefined;
  /** Called after the status is written. */
  readonly outcome?: () => Outcome | undefined;
}

/**
 * Writes an XR's status if it changes.
 *
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
export async function writeStatus(
  { clock, shown, writer }: CompositePort,
  subject: Subject,
  update: StatusUpdate,
): Promise<void> {
  const { layout, memory, xr } = subject;
  // Messages of the controller can quote the messages of functions, servers and composed resources.
  const conditions = [
    ...(update.desired === undefined ? [] : shown.shownConditions(conditionsOf(update.desired))),
    ...update.conditions.map((one) => shown.secrets.scrubMessage(one)),
  ];
  const plan = planStatus({ ...update, conditions, xr, layout, applies: memory.applies, now: clock.now() });
  subject.xr = await writer.executeOrThrow(xr, plan);
}
