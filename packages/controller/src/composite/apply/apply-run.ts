import type { ObservedResource } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { CompositeError } from "../../objects/composite-error.ts";
import type { Condition } from "../../objects/conditions.ts";
import { REQUEUE_AFTER_MS } from "../../objects/requeue-after.ts";
import { asObserved } from "../observe/observed-entries.ts";
import type { ComposedRun } from "../run/compose.ts";
import type { CompositeLimits, CompositePort, Subject } from "../state/composite-port.ts";
import { carryOut } from "./carry-out.ts";
import { brokenContract } from "./connection-contract.ts";
import type { RunPlan } from "./plan-run.ts";
import { publishDetails } from "./publish-details.ts";
import { readyCondition, statedReadiness } from "./ready-condition.ts";

export interface ApplyRunResult {
  /** The composed resources after the apply. */
  readonly applied: readonly LiveObject[];
  /** The condition `Ready`. */
  readonly readiness: Condition;
  /** Whether connection details were written. */
  readonly published: boolean;
  /** The time in milliseconds for which the functions' responses may be used, with a lower bound. */
  readonly ttlMs: number | undefined;
  /** The errors of failed steps. If there are any, nothing was deleted. */
  readonly failures: readonly CompositeError[];
}

/**
 * Executes the plan of a run, and publishes its connection details.
 *
 * @throws {CompositeError | ApiError} before anything was created, changed or deleted
 */
export async function applyRun(
  port: CompositePort,
  subject: Subject,
  { composition, observed, entries, secret, run }: ComposedRun,
  plan: RunPlan,
): Promise<ApplyRunResult> {
  const applied = await carryOut(port, subject, plan);
  const failures = [...plan.refused.values(), ...applied.failures];
  const { limits, shown } = port;
  const after = withApplied(limits, entries, applied.objects);
  // Some resources are ready as soon as they exist, so check readiness again after the apply.
  const { connectionDetails, warnings, ...checked } = run.reevaluate?.(after) ?? { ...run, warnings: [] };
  for (const message of warnings) shown.addResult({ severity: "Warning", message });
  // An entry that could not be created is not ready even if no check says so. An existing entry whose update failed
  // stays ready: `Synced` reports the failure.
  const missing = [...plan.refused.keys(), ...applied.failed].filter((name) => !observed.entries.has(name));
  const unready = [...new Set([...checked.unready, ...missing])].toSorted();
  const published = await publishDetails(port, subject, { unready, connectionDetails }, secret).catch(
    (error: unknown) => {
      if (error instanceof CompositeError) return error;
      throw error;
    },
  );
  if (published instanceof CompositeError) failures.push(published);
  const stated = run.ready === undefined ? readyCondition(unready, after) : statedReadiness(run.ready);
  const broken =
    stated.status === "True" ? brokenContract(shown, subject, composition, { connectionDetails }) : undefined;
  const readiness = broken ?? stated;
  const ttlMs = run.ttlMs && Math.max(run.ttlMs, REQUEUE_AFTER_MS.shortestTtl);
  return { applied: [...applied.objects.values()], readiness, published: published === true, ttlMs, failures };
}

/** The entries after the apply. */
function withApplied(
  limits: CompositeLimits,
  entries: readonly ObservedResource[],
  objects: ReadonlyMap<string, LiveObject>,
): ObservedResource[] {
  const applied = new Map(entries.map((entry) => [entry.name, entry]));
  for (const [name, object] of objects)
    applied.set(name, { ...applied.get(name), name, resource: asObserved(object, limits) });
  return [...applied.values()];
}
