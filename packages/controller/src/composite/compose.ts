import type { Composition } from "@xfn/composition";
import type { KubernetesObject } from "@xfn/functionio";
import { ApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import { type FunctionRunner, type PipelineResult, runPipeline, type StepResult, secretDetails } from "@xfn/pipeline";
import { CompositeError } from "../objects/composite-error.ts";
import { COMPOSITE_MANAGER, compositeIntent } from "../objects/composite-intent.ts";
import {
  isControlledBy,
  publishConnectionSecret,
  secretPlaceOf,
  unsupportedPublishing,
} from "../objects/connection-secrets.ts";
import { controllerOf } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, objectKey, referenceTo } from "../objects/references.ts";
import { selectRevision } from "../revision/select-revision.ts";
import { type Applicable, applicable, applyComposed } from "./apply-composed.ts";
import { deleteComposed } from "./delete-composed.ts";
import { type ObservedComposed, observeComposed, observedEntries, withoutManagedFields } from "./observe-composed.ts";
import { pullAuth } from "./pull-auth.ts";
import { applyChanged, readLive, tell, type Work } from "./reconcile-context.ts";

/** What came of composing an XR. */
export interface Outcome {
  /** What is desired of the XR; absent: it is left as it is. */
  readonly wanted: KubernetesObject | undefined;
  /** The names of the entries that are not ready, sorted. */
  readonly unready: readonly string[];
  /** Whether connection details were written. */
  readonly published: boolean;
  /** What could not be done. Nothing was deleted then. */
  readonly failures: readonly CompositeError[];
}

/**
 * Composes an XR: selects a revision, observes, runs templates and functions, and makes it so. The order is what keeps it true
 * through a crash at any point: the finalizer and the references are written before anything is created, so that whatever
 * exists is found again; nothing is deleted before all else has succeeded.
 *
 * @throws {CompositeError | PipelineError | SelectionError | ApiError} if there is nothing to make so; nothing was created,
 *   changed or deleted then
 */
export async function composeResources(work: Work): Promise<Outcome> {
  const selected = await selectRevision(work.context, work.definition, work.xr, work.signal);
  const { composition } = selected;
  requireSupported(work, composition);
  const observed = await observeComposed(work);
  const secret = await connectionSecret(work);
  const entries = await observedEntries(work, composition, observed);
  const run = await runPipeline({
    composite: withoutManagedFields(work.xr),
    composition,
    observed: entries,
    ...(secret && isControlledBy(secret, work.xr) && { connectionDetails: secretDetails(secret) }),
    runner: work.context.runner ?? NO_RUNNER,
    signal: work.signal,
    auth: (step) => pullAuth(work, step),
  });
  for (const result of run.results) if (result.severity !== "Fatal") tellResult(work, result);
  if (run.fatal !== undefined) {
    const { step = "", message } = run.fatal;
    throw new CompositeError(
      "FatalResult",
      `pipeline step ${JSON.stringify(step)} returned a fatal result: ${message}`,
    );
  }
  const failures: CompositeError[] = [];
  const failed = new Set<string>();
  const attempt = async <T>(doing: () => T | Promise<T>, entry?: string): Promise<T | undefined> => {
    try {
      return await doing();
    } catch (error) {
      if (!(error instanceof CompositeError)) throw error;
      failures.push(error);
      if (entry !== undefined) failed.add(entry);
      return undefined;
    }
  };
  const resources = new Map<string, Applicable>();
  for (const one of run.composed) {
    const { name } = one;
    const found = await attempt(() => applicable(work, one, observed.entries.get(name)), name);
    if (found !== undefined) await attempt(() => addOnce(resources, found), name);
  }
  const wanted = run.desired.composite?.resource;
  const going = toDelete(run, observed, resources);
  await recordReferences(work, {
    composition,
    wanted,
    changes: selected.changes,
    observed,
    resources: [...resources.values()],
    going: failures.length > 0 ? [] : going,
  });
  const now = new Map(entries.map((one) => [one.name, one]));
  for (const resource of resources.values()) {
    const { entry } = resource;
    const object = await attempt(() => applyComposed(work, resource), entry);
    if (object !== undefined)
      now.set(entry, { ...now.get(entry), name: entry, resource: withoutManagedFields(object) });
  }
  // As they are after they were applied: some are ready as soon as they exist.
  const { connectionDetails, warnings, ...evaluated } = run.reevaluate?.([...now.values()]) ?? { ...run, warnings: [] };
  // Without checks it would count as ready, and it is not even as it should be.
  const unready = [...new Set([...evaluated.unready, ...failed])].toSorted();
  for (const message of warnings) tellResult(work, { severity: "Warning", message });
  const unpublished = unsupportedPublishing(work.xr);
  if (unpublished !== undefined) tell(work, "Warning", "PublishConnectionSecret", unpublished);
  if (failures.length === 0) {
    for (const object of going) await attempt(() => deleteComposed(work, object));
  }
  const published = (await attempt(() => publish(work, { unready, connectionDetails }, secret))) ?? false;
  return { wanted, unready, published, failures };
}

function requireSupported({ context }: Work, composition: Composition): void {
  const { environment, functions } = composition.spec;
  const title = `the Composition ${composition.metadata.name ?? ""}`;
  if (environment !== undefined) {
    throw new CompositeError(
      "EnvironmentUnsupported",
      `${title} has an environment, which is not supported yet; take spec.environment out`,
    );
  }
  if (functions.length > 0 && context.runner === undefined) {
    throw new CompositeError(
      "FunctionsDisabled",
      `${title} has functions, which are off; start the controller with --enable-composition-functions`,
    );
  }
}

/** A Composition without functions runs none. */
const NO_RUNNER: FunctionRunner = {
  run: () => Promise.reject(new CompositeError("FunctionsDisabled", "composition functions are off")),
};

function tellResult(work: Work, { severity, message, step }: StepResult): void {
  const text = step === undefined ? message : `Pipeline step ${JSON.stringify(step)}: ${message}`;
  tell(work, severity === "Normal" ? "Normal" : "Warning", "ComposeResources", text);
}

async function connectionSecret(work: Work): Promise<LiveObject | undefined> {
  const place = secretPlaceOf(work.xr);
  if (place === undefined) return undefined;
  return findLive(work.context, { apiVersion: "v1", kind: "Secret", ...place }, work.signal);
}

/**
 * One write: finalizer, references, what was selected, and what is desired of the XR. It fails if the XR is not the one that all
 * this was worked out from: two processes that each took the other's references away would leave objects that nobody knows.
 */
async function recordReferences(
  work: Work,
  input: Omit<Parameters<typeof compositeIntent>[0], "xr" | "references"> & {
    observed: ObservedComposed;
    resources: readonly Applicable[];
    going: readonly LiveObject[];
  },
): Promise<void> {
  const { observed, resources, going, ...rest } = input;
  const { context, memory, xr } = work;
  const references: ObjectReference[] = [...observed.references, ...resources.map(({ intent }) => referenceTo(intent))];
  // Before anything exists that they are to tell of.
  const recorded = [...references].map(({ apiVersion, kind }) =>
    context.client.kind(apiVersion, kind).catch(() => undefined),
  );
  const kinds = (await Promise.all(recorded)).filter((kind) => kind !== undefined);
  context.composed?.watch(memory.uid, kinds);
  const intent = compositeIntent({ ...rest, xr, references });
  const { object, written } = await applyChanged(work, intent, xr, {
    fieldManager: COMPOSITE_MANAGER,
    onlyIfUnchanged: true,
  });
  work.xr = object;
  if (written) return;
  const deletes = going.some((object) => isLiving(object) && controllerOf(object)?.uid === xr.metadata.uid);
  if (deletes || resources.some((one) => one.observed === undefined)) await requireFresh(work);
}

function isLiving({ metadata }: LiveObject): boolean {
  return metadata["deletionTimestamp"] === undefined;
}

/**
 * What is created is recorded in the XR as the server has it, not only in the copy that we know; and what is deleted is not desired
 * by the XR as it is now.
 */
async function requireFresh(work: Work): Promise<void> {
  const { xr } = work;
  const live = await readLive(work, referenceTo(xr));
  if (live?.metadata.uid === xr.metadata.uid && live.metadata.resourceVersion === xr.metadata.resourceVersion) return;
  throw new ApiError("Conflict", `${xr.kind} ${xr.metadata.name} has changed since it was read`);
}

/** Two entries for one object would take it from each other for ever. */
function addOnce(resources: Map<string, Applicable>, one: Applicable): void {
  const reference = referenceTo(one.intent);
  const other = resources.get(objectKey(reference));
  if (other === undefined) {
    resources.set(objectKey(reference), one);
    return;
  }
  const [mine, theirs] = [one, other].map(({ entry }) => JSON.stringify(entry));
  const problem = `the entries ${theirs} and ${mine} are both ${describeReference(reference)}; give one another name`;
  throw new CompositeError("InvalidResource", `cannot apply composed resource ${mine}: ${problem}`);
}

/** What exists for entries that are to go. One whose object has another entry's name by now has been renamed. */
function toDelete(
  { deleted }: PipelineResult,
  { entries }: ObservedComposed,
  applied: ReadonlyMap<string, Applicable>,
): LiveObject[] {
  return deleted.flatMap((name) => {
    const object = entries.get(name);
    return object === undefined || applied.has(objectKey(referenceTo(object))) ? [] : [object];
  });
}

async function publish(
  work: Work,
  { unready, connectionDetails }: Pick<PipelineResult, "unready" | "connectionDetails">,
  observed: LiveObject | undefined,
): Promise<boolean> {
  const place = secretPlaceOf(work.xr);
  // Until there is something to tell, an XR that is still being made publishes nothing.
  if (place === undefined || (observed === undefined && connectionDetails.size === 0 && unready.length > 0)) {
    return false;
  }
  const { connectionSecretKeys: keys } = work.definition.spec;
  const details = [...connectionDetails].filter(([name]) => keys.length === 0 || keys.includes(name));
  const { xr, signal } = work;
  return publishConnectionSecret(work.context.client, { owner: xr, place, details, observed, signal });
}
