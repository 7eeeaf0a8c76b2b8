import type { ApiErrorCode, LiveObject } from "@xfn/kubernetes";
import type { ApplyCache } from "../objects/apply-cache.ts";
import type { Action } from "../plan/action.ts";
import { execute, requireFound } from "../plan/execute.ts";
import type { Outcome } from "../plan/outcome.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";
import type { DefinitionPort } from "./definition-port.ts";
import type { PlannedStatus } from "./definition-status.ts";

/**
 * Sends the writes of a plan for a definition.
 *
 * @param tolerated codes of failures that the reconcile reports itself, by the write. Any other failure ends the plan
 * @throws {ApiError}
 */
export async function carryOut(
  { client }: Pick<DefinitionPort, "client">,
  plan: Plan,
  signal: AbortSignal,
  tolerated: Partial<Readonly<Record<Action["do"], readonly ApiErrorCode[]>>> = {},
  applies?: ApplyCache,
): Promise<Outcome> {
  return await execute(plan, {
    actors: { own: { client } },
    signal,
    onResult: (action, result) => {
      requireFound(action, result);
      if (result.is === "failed" && tolerated[action.do]?.includes(result.error.code) !== true) throw result.error;
      if (result.is === "done" && result.object !== undefined && action.do === "apply")
        applies?.record(action.intent, result.object, { fieldManager: action.manager });
    },
  });
}

/** Emits an event for each changed condition, and writes the status. */
export async function carryOutStatus(
  port: Pick<DefinitionPort, "client" | "events">,
  object: LiveObject,
  { action, news }: PlannedStatus,
  signal: AbortSignal,
): Promise<void> {
  for (const { type, status, reason, message = "" } of news) {
    const text = message === "" ? `${type}: its instances are reconciled` : message;
    port.events.record(object, { type: status === "True" ? "Normal" : "Warning", reason, message: text });
  }
  if (action !== undefined) await carryOut(port, planInOrder("status", [action]), signal);
}
