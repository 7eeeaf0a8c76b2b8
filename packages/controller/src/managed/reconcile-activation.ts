import { someOf } from "@xfn/errors";
import type { LiveObject, Reconcile } from "@xfn/kubernetes";
import { ACTIVATION_POLICIES, MANAGED_DEFINITIONS } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findCached, isPaused } from "../objects/read-objects.ts";
import { carryOut } from "../package/carry-out.ts";
import { DEFINITION_CACHE } from "../package/managed/observed-state.ts";
import { execute } from "../plan/execute.ts";
import { firstFailure } from "../plan/outcome.ts";
import { activationOf, planActivation, planPolicyStatus } from "./plan-activation.ts";
import { type ManagedPort, PAUSED } from "./reconcile-managed.ts";

/** An event names this many definitions. */
const MAX_NAMED = 5;
const ACTIVATED = "ActivateManagedResourceDefinition";

/**
 * Reconciles ManagedResourceActivationPolicies: activates the definitions whose names match. The key is the name.
 * Deleting a policy deactivates nothing.
 */
export function activationReconciler(port: ManagedPort): Reconcile {
  return async (name, signal) => {
    const policy = await findCached(port, ACTIVATION_POLICIES, name, signal);
    if (policy === undefined || isBeingDeleted(policy)) return undefined;
    if (isPaused(policy)) {
      port.events.record(policy, PAUSED);
      return undefined;
    }
    const activation = activationOf(policy, await definitionsOf(port, signal));
    const failures = new Map<string, string>();
    const activated: string[] = [];
    const outcome = await execute(planActivation(activation), {
      actors: { own: port },
      signal,
      onResult: ({ on }, result) => {
        if (result.is === "failed") failures.set(on.name, result.error.message);
        else if (result.is === "done") activated.push(on.name);
      },
    });
    if (activated.length > 0)
      port.events.record(policy, { type: "Normal", reason: ACTIVATED, message: `activated ${named(activated)}` });
    if (failures.size > 0) {
      const message = `cannot activate ${named([...failures.keys()])}: ${[...failures.values()][0] ?? ""}`;
      port.events.record(policy, { type: "Warning", reason: ACTIVATED, message });
    }
    await carryOut(port, policy, planPolicyStatus(policy, activation, failures, port.now()), signal);
    const failure = firstFailure(outcome);
    if (failure !== undefined) throw failure.error;
    return undefined;
  };
}

function named(names: readonly string[]): string {
  return someOf(names.toSorted(), MAX_NAMED);
}

/** All definitions: their metadata is enough. */
async function definitionsOf(port: ManagedPort, signal: AbortSignal): Promise<readonly LiveObject[]> {
  const cache = port.informers.peek(MANAGED_DEFINITIONS, DEFINITION_CACHE);
  return cache?.list() ?? (await port.client.list(MANAGED_DEFINITIONS, { metadataOnly: true, signal })).items;
}
