import { conditionsOf, planStatus, type StatusUpdate } from "../plan/plan-status.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";
import { executeOrThrow } from "./execute-plan.ts";

/**
 * Writes an XR's status if it changes.
 *
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
export async function writeStatus(context: ReconcileContext, update: StatusUpdate): Promise<void> {
  const { layout, memory, notes, secrets, xr } = context;
  // Messages of the controller can quote the messages of functions, servers and composed resources.
  const conditions = [
    ...(update.desired === undefined ? [] : notes.shownConditions(conditionsOf(update.desired), secrets)),
    ...update.conditions.map((one) => secrets.scrubMessage(one)),
  ];
  const plan = planStatus({ ...update, conditions, xr, layout, applies: memory.applies, now: context.now() });
  await executeOrThrow(context, plan);
}
