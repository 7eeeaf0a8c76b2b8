import { type Composition, isComplete } from "@xfn/composition";
import type { ObservedResource } from "@xfn/functionio";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import { CompositeError } from "../../objects/composite-error.ts";
import type { Condition } from "../../objects/conditions.ts";
import { objectKey, referenceTo } from "../../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../../objects/requeue-after.ts";
import { discoverKinds } from "../observe/discover-kinds.ts";
import { locate } from "../observe/locate.ts";
import { asObserved, type ObservedComposed } from "../observe/observe-composed.ts";
import { type Applicable, applicables } from "../plan/applicable.ts";
import { planComposite } from "../plan/plan-composite.ts";
import { refuseOutside } from "../plan/refuse-outside.ts";
import { refuseUnnamed } from "../plan/refuse-unnamed.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";
import { carryOut } from "./carry-out.ts";
import { brokenContract } from "./connection-contract.ts";
import { publishDetails } from "./publish-details.ts";
import { readyCondition, statedReadiness } from "./ready-condition.ts";

/** The result of an XR's templates and functions, and the state that they observed. */
export interface ComposedRun {
  readonly composition: Composition;
  /** The fields of the XR's spec that record the selected revision. */
  readonly changes: JsonObject;
  readonly observed: ObservedComposed;
  /** The observed entries as functions received them. */
  readonly entries: readonly ObservedResource[];
  /** The XR's connection secret, read live; undefined if it does not exist. */
  readonly secret: LiveObject | undefined;
  readonly run: PipelineResult;
}

export interface ApplyRunResult {
  /** The desired XR. Absent if no template or function desires a field of it. */
  readonly desired: KubernetesObject | undefined;
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
 * Records, applies, deletes and publishes the result of a run, in the order of {@link planComposite}.
 *
 * @throws {CompositeError | ApiError} before anything was created, changed or deleted
 */
export async function applyRun(context: ReconcileContext, composed: ComposedRun): Promise<ApplyRunResult> {
  const { composition, changes, observed, entries, secret, run } = composed;
  const { actors, definition, layout, memory, signal, xr } = context;
  const resources = run.composed.map(({ resource }) => resource);
  const kinds = await discoverKinds(actors.xr.client, [...resources, ...observed.unnamed], signal);
  refuseOutside({ definition, kinds, xr }, run);
  const { allowComposedSecrets, namespace: secretsNamespace } = context;
  const found = applicables(run.composed, { xr, entries: observed.entries, kinds, allowComposedSecrets });
  for (const note of found.notes) context.notes.warn(note);
  refuseUnnamed(observed.unnamed, found.resources, { xr, layout, composition, kinds });
  const desired = run.desired.composite?.resource ?? nothingDesired(composition, xr);
  const plan = planComposite({
    xr,
    layout,
    composition,
    desired,
    changes,
    secretsNamespace,
    observed,
    applicables: found,
    located: await locate(context, found.resources.values()),
    undesired: undesiredObjects(run, observed, found.resources),
    memory,
  });
  const applied = await carryOut(context, plan);
  const failures = [...found.refused.values(), ...applied.failures];
  const after = withApplied(context, entries, applied.objects);
  // Some resources are ready as soon as they exist, so check readiness again after the apply.
  const { connectionDetails, warnings, ...checked } = run.reevaluate?.(after) ?? { ...run, warnings: [] };
  for (const message of warnings) context.notes.addResult({ severity: "Warning", message }, context.secrets);
  // An entry that could not be created is not ready even if no check says so. An existing entry whose update failed
  // stays ready: `Synced` reports the failure.
  const missing = [...found.refused.keys(), ...applied.failed].filter((name) => !observed.entries.has(name));
  const unready = [...new Set([...checked.unready, ...missing])].toSorted();
  const published = await publishDetails(context, { unready, connectionDetails }, secret).catch((error: unknown) => {
    if (error instanceof CompositeError) return error;
    throw error;
  });
  if (published instanceof CompositeError) failures.push(published);
  const stated = run.ready === undefined ? readyCondition(unready, after) : statedReadiness(run.ready);
  const broken = stated.status === "True" ? brokenContract(context, composition, { connectionDetails }) : undefined;
  const readiness = broken ?? stated;
  const ttlMs = run.ttlMs && Math.max(run.ttlMs, REQUEUE_AFTER_MS.shortestTtl);
  return { desired, readiness, published: published === true, ttlMs, failures };
}

/** A run with `mode: Pipeline` is complete: an XR that no step mentions gives up the fields that earlier runs set. */
function nothingDesired(composition: Composition, { apiVersion, kind }: LiveObject): KubernetesObject | undefined {
  return isComplete(composition) ? { apiVersion, kind } : undefined;
}

/**
 * The objects of entries that are no longer desired. An object that now has another entry's name was renamed, and
 * stays.
 */
function undesiredObjects(
  { deleted }: PipelineResult,
  { entries }: ObservedComposed,
  resources: ReadonlyMap<string, Applicable>,
): LiveObject[] {
  return deleted.flatMap((name) => {
    const object = entries.get(name);
    return object === undefined || resources.has(objectKey(referenceTo(object))) ? [] : [object];
  });
}

/** The entries after the apply. */
function withApplied(
  context: ReconcileContext,
  entries: readonly ObservedResource[],
  objects: ReadonlyMap<string, LiveObject>,
): ObservedResource[] {
  const applied = new Map(entries.map((entry) => [entry.name, entry]));
  for (const [name, object] of objects)
    applied.set(name, { ...applied.get(name), name, resource: asObserved(object, context) });
  return [...applied.values()];
}
