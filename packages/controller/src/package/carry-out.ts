import type { EventRecorder, LiveObject } from "@xfn/kubernetes";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { executeOrThrow } from "../plan/execute.ts";
import type { Outcome } from "../plan/outcome.ts";
import type { Plan } from "../plan/plan.ts";
import type { Cluster } from "./package-port.ts";

/** An event about the object that is reconciled. */
export type Note = Parameters<EventRecorder["record"]>[1];

/** A plan with the events about its writes. */
export interface NotedPlan extends Plan {
  readonly notes: ReadonlyMap<Action, readonly Note[]>;
}

/** One plan of several. A failure prevents all later actions. */
export function inOrder(...plans: readonly NotedPlan[]): NotedPlan {
  return {
    stages: plans.flatMap(({ stages }) => stages),
    notes: new Map(plans.flatMap(({ notes }) => [...notes])),
  };
}

/**
 * Executes a plan in which every failure ends the reconcile.
 *
 * @param object the object that is reconciled
 * @throws {ApiError}
 */
export async function carryOut(
  cluster: Pick<Cluster, "client" | "events">,
  object: LiveObject,
  plan: NotedPlan,
  signal: AbortSignal,
): Promise<Outcome> {
  return await executeOrThrow(plan, {
    actors: { own: cluster },
    signal,
    onResult: (action, result) => {
      // A warning explains a state of the object, also if its status cannot be written.
      for (const note of plan.notes.get(action) ?? [])
        if (result.is !== "failed" || note.type === "Warning") cluster.events.record(object, note);
    },
  });
}

/** Writes a status. @returns the object as the server stored it */
export async function carryOutStatus(
  cluster: Pick<Cluster, "client" | "events">,
  object: LiveObject,
  plan: NotedPlan,
  signal: AbortSignal,
): Promise<LiveObject> {
  const { latest } = await carryOut(cluster, object, plan, signal);
  return latest(referenceTo(object)) ?? object;
}
