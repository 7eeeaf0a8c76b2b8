import { type Composition, isComplete } from "@xfn/composition";
import { type ObservedResource } from "@xfn/functionio";
import { type JsonObject, type KubernetesObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import { CompositeError } from "../../objects/composite-error.ts";
import type { Condition } from "../../objects/conditions.ts";
import { describeReference, objectKey, referenceTo } from "../../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../../objects/requeue-after.ts";
import { asObserved, type ObservedComposed } from "../observe/observe-composed.ts";
import { emitResult } from "../state/emit-events.ts";
import type { ReconcileContext } from "../state/reconcile-context.ts";
import { applyComposed } from "./apply-composed.ts";
import { Attempts } from "./attempts.ts";
import { type Applicable, checkApplicable } from "./check-applicable.ts";
import { brokenContract } from "./connection-contract.ts";
import { deleteObjects } from "./delete-objects.ts";
import { publishDetails } from "./publish-details.ts";
import { readyCondition, statedReadiness } from "./ready-condition.ts";
import { recordReferences } from "./record-references.ts";
import { refuseOutside } from "./refuse-outside.ts";
import { refuseUnnamed } from "./refuse-unnamed.ts";

/** What the templates and functions of an XR desire, and the state that they saw. */
export interface ComposedRun {
  readonly composition: Composition;
  /** The fields of the XR's spec that record the selected revision. */
  readonly changes: JsonObject;
  readonly observed: ObservedComposed;
  /** The observed entries as functions saw them. */
  readonly entries: readonly ObservedResource[];
  /** The XR's connection secret, read live; undefined if it does not exist. */
  readonly secret: LiveObject | undefined;
  readonly run: PipelineResult;
}

/** The result of {@link applyRun}. */
export interface ApplyRunResult {
  /** The desired XR. Absent: no template or function desires anything of it. */
  readonly desired: KubernetesObject | undefined;
  /** The condition `Ready`. */
  readonly readiness: Condition;
  /** Whether connection details were written. */
  readonly published: boolean;
  /** Milliseconds for which the functions let their responses be used, bounded below. */
  readonly ttlMs: number | undefined;
  /** The steps that failed. If there are any, nothing was deleted. */
  readonly failures: readonly CompositeError[];
}

/**
 * Records, applies, deletes and publishes what a run desires.
 *
 * The order makes a crash at any point safe. The finalizer and the references are written before an object is created,
 * so that every object is found again. Nothing is deleted before everything else has succeeded.
 *
 * @throws {CompositeError | ApiError} before anything was created, changed or deleted
 */
export async function applyRun(context: ReconcileContext, composed: ComposedRun): Promise<ApplyRunResult> {
  const { composition, changes, observed, entries, secret, run } = composed;
  const attempts = new Attempts();
  await refuseOutside(context, run);
  const resources = await applicableResources(context, run, observed, attempts);
  await refuseUnnamed(context, composition, observed.unnamed, resources);
  const desired = run.desired.composite?.resource ?? nothingDesired(composition, context.xr);
  const undesired = undesiredObjects(run, observed, resources);
  await recordReferences(context, {
    composition,
    desired,
    changes,
    observed,
    resources: [...resources.values()],
    undesired: attempts.failures.length > 0 ? [] : undesired,
  });
  const applied = await applyResources(context, resources, entries, attempts);
  // Some resources are ready as soon as they exist, so readiness is checked again after the apply.
  const { connectionDetails, warnings, ...checked } = run.reevaluate?.(applied) ?? { ...run, warnings: [] };
  for (const message of warnings) emitResult(context, { severity: "Warning", message });
  // An entry that could not be created is not ready even if no check says so. A failed update of one that exists leaves
  // it ready: `Synced` reports it.
  const missing = [...attempts.failedEntries].filter((name) => !observed.entries.has(name));
  const unready = [...new Set([...checked.unready, ...missing])].toSorted();
  if (attempts.failures.length === 0) {
    const { failures } = await deleteObjects(context, undesired, "Background");
    attempts.failures.push(...failures);
  }
  const published = await attempts.run(() => publishDetails(context, { unready, connectionDetails }, secret));
  const stated = run.ready === undefined ? readyCondition(unready, applied) : statedReadiness(run.ready);
  const broken = stated.status === "True" ? brokenContract(context, composition, { connectionDetails }) : undefined;
  const readiness = broken ?? stated;
  const ttlMs = run.ttlMs && Math.max(run.ttlMs, REQUEUE_AFTER_MS.shortestTtl);
  return { desired, readiness, published: published ?? false, ttlMs, failures: attempts.failures };
}

/** With `mode: Pipeline`, which is complete, an XR that no step mentions gives up what earlier runs set. */
function nothingDesired(composition: Composition, { apiVersion, kind }: LiveObject): KubernetesObject | undefined {
  return isComplete(composition) ? { apiVersion, kind } : undefined;
}

/** The composed resources that can be applied, by object. */
async function applicableResources(
  context: ReconcileContext,
  { composed }: PipelineResult,
  { entries }: ObservedComposed,
  attempts: Attempts,
): Promise<ReadonlyMap<string, Applicable>> {
  const resources = new Map<string, Applicable>();
  for (const resource of composed) {
    const { name } = resource;
    const found = await attempts.run(() => checkApplicable(context, resource, entries.get(name)), name);
    if (found !== undefined) await attempts.run(() => addOnce(resources, found), name);
  }
  return resources;
}

/** Two entries for one object would overwrite each other in every reconcile. */
function addOnce(resources: Map<string, Applicable>, one: Applicable): void {
  const reference = referenceTo(one.intent);
  const key = objectKey(reference);
  const other = resources.get(key);
  if (other === undefined) {
    resources.set(key, one);
    return;
  }
  const [entry, first] = [one, other].map((each) => JSON.stringify(each.entry));
  const problem = `the entries ${first} and ${entry} are both ${describeReference(reference)}; give one another name`;
  throw new CompositeError("InvalidResource", `cannot apply composed resource ${entry}: ${problem}`);
}

/** The objects of entries that are no longer desired. An object that has another entry's name was renamed and stays. */
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

/** @returns the entries after the apply */
async function applyResources(
  context: ReconcileContext,
  resources: ReadonlyMap<string, Applicable>,
  entries: readonly ObservedResource[],
  attempts: Attempts,
): Promise<ObservedResource[]> {
  const applied = new Map(entries.map((entry) => [entry.name, entry]));
  const objects: LiveObject[] = [];
  for (const resource of resources.values()) {
    const { entry: name } = resource;
    const object = await attempts.run(() => applyComposed(context, resource), name);
    if (object === undefined) continue;
    objects.push(object);
    applied.set(name, { ...applied.get(name), name, resource: asObserved(context, object) });
  }
  context.applied = objects;
  return [...applied.values()];
}
