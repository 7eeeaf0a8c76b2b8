import { conditionsOf, planStatus, type StatusUpdate } from "../plan/plan-status.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";
import { PlanWriter } from "./plan-writer.ts";

/**
 * Writes an XR's status if it changes.
 *
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
export async function writeStatus(port: CompositePort, subject: Subject, update: StatusUpdate): Promise<void> {
  const { clock, shown } = port;
  const { layout, memory, xr } = subject;
  // Messages of the controller can quote the messages of functions, servers and composed resources.
  const conditions = [
    ...(update.desired === undefined ? [] : shown.shownConditions(conditionsOf(update.desired))),
    ...update.conditions.map((one) => shown.secrets.scrubMessage(one)),
  ];
  const plan = planStatus({ ...update, conditions, xr, layout, applies: memory.applies, now: clock.now() });
  subject.xr = await new PlanWriter(port, memory).executeOrThrow(xr, plan);
}
