import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { describeReference } from "../objects/references.ts";
import type { Part } from "../package/plan-status.ts";
import type { Action } from "../plan/action.ts";
import { executeOne, executeOrThrow } from "../plan/execute.ts";
import { planInOrder } from "../plan/plan.ts";
import type { OperationPort } from "./operation-port.ts";
import { planStatus } from "./plan-status.ts";

/** @throws {ApiError} */
export async function deleteAll(
  { access }: Pick<OperationPort, "access">,
  deletions: readonly Action[],
  signal: AbortSignal,
): Promise<void> {
  await executeOrThrow(planInOrder("collect", deletions), { actors: { own: access }, signal });
}

/**
 * Creates an Operation.
 *
 * @returns undefined if it exists, because an earlier reconcile created it
 * @throws {ApiError}
 */
export async function createOnce(
  { access, events }: Pick<OperationPort, "access" | "events">,
  owner: LiveObject,
  creation: Action,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  try {
    return await executeOne(access, creation, signal);
  } catch (error) {
    if (isApiError(error, "AlreadyExists")) return undefined;
    if (error instanceof Error) {
      const message = `cannot create ${describeReference(creation.on)}: ${error.message}`;
      events.record(owner, { type: "Warning", reason: "CreateOperation", message });
    }
    throw error;
  }
}

/** @throws {ApiError} */
export async function writeStatus(
  { access, now }: Pick<OperationPort, "access" | "now">,
  object: LiveObject,
  part: Part,
  signal: AbortSignal,
): Promise<void> {
  await executeOrThrow(planStatus(object, part, now()), { actors: { own: access }, signal });
}
