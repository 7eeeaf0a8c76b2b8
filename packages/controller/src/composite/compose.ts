import type { Composition } from "@xfn/composition";
import type { KubernetesObject, ObservedResource } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { type FunctionRunner, type PipelineResult, runPipeline, type StepResult, secretDetails } from "@xfn/pipeline";
import { CompositeError } from "../objects/composite-error.ts";
import { publishConnectionSecret, secretReferenceOf, unsupportedPublishing } from "../objects/connection-secrets.ts";
import { referenceOf, SECRETS } from "../objects/kinds.ts";
import { isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, objectKey, referenceTo } from "../objects/references.ts";
import { selectRevision } from "../revision/select-revision.ts";
import { type Applicable, applyComposed, checkApplicable } from "./apply-composed.ts";
import { deleteComposed } from "./delete-composed.ts";
import { type ObservedComposed, observeComposed, observedEntries, withoutManagedFields } from "./observe-composed.ts";
import { pullAuth } from "./pull-auth.ts";
import { emitEvent, type ReconcileContext } from "./reconcile-context.ts";
import { recordReferences } from "./record-references.ts";

/** The result of {@link composeResources}. */
export interface ComposeResult {
  /** The desired XR. Absent: no template or function desires anything of it. */
  readonly desired: KubernetesObject | undefined;
  /** The names of the entries that are not ready, sorted. */
  readonly unready: readonly string[];
  /** Whether connection details were written. */
  readonly published: boolean;
  /** The steps that failed. If there are any, nothing was deleted. */
  readonly failures: readonly CompositeError[];
}

/**
 * Composes an XR: selects a revision, observes, runs templates and functions, applies, deletes and publishes.
 *
 * The order makes a crash at any point safe. The finalizer and the references are written before an object is created,
 * so that every object is found again. Nothing is deleted before everything else has succeeded.
 *
 * @throws {CompositeError | PipelineError | SelectionError | ApiError} before anything was created, changed or
 *   deleted
 */
export async function composeResources(context: ReconcileContext): Promise<ComposeResult> {
  const { composition, changes } = await selectRevision(context, context.definition, context.xr, context.signal);
  requireSupported(context, composition);
  const observed = await observeComposed(context);
  const secret = await readConnectionSecret(context);
  const entries = await observedEntries(context, composition, observed);
  const run = await runComposition(context, composition, entries, secret);
  const attempts = new Attempts();
  const resources = await applicableResources(context, run, observed, attempts);
  const desired = run.desired.composite?.resource;
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
  // An entry that failed is not as desired, so it is not ready even if no check says so.
  const unready = [...new Set([...checked.unready, ...attempts.failedEntries])].toSorted();
  for (const message of warnings) emitResult(context, { severity: "Warning", message });
  const unpublished = unsupportedPublishing(context.xr);
  if (unpublished !== undefined) emitEvent(context, "Warning", unpublished, "PublishConnectionSecret");
  if (attempts.failures.length === 0) {
    for (const object of undesired) await attempts.run(() => deleteComposed(context, object));
  }
  const published = await attempts.run(() => publish(context, { unready, connectionDetails }, secret));
  return { desired, unready, published: published ?? false, failures: attempts.failures };
}

/** Collects the failures of independent steps, so that one failure does not keep the others from running. */
class Attempts {
  readonly failures: CompositeError[] = [];
  readonly failedEntries: Set<string> = new Set();

  /** @returns undefined if the step failed */
  async run<T>(step: () => T | Promise<T>, entry?: string): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof CompositeError)) throw error;
      this.failures.push(error);
      if (entry !== undefined) this.failedEntries.add(entry);
      return undefined;
    }
  }
}

function requireSupported({ runner }: ReconcileContext, composition: Composition): void {
  const { environment, functions } = composition.spec;
  const title = `the Composition ${composition.metadata.name ?? ""}`;
  if (environment !== undefined) {
    throw new CompositeError(
      "EnvironmentUnsupported",
      `${title} has an environment, which is not supported yet; remove spec.environment`,
    );
  }
  if (functions.length > 0 && runner === undefined) {
    throw new CompositeError(
      "FunctionsDisabled",
      `${title} has functions, which are disabled; start the controller with --enable-composition-functions`,
    );
  }
}

/** The runner of Compositions without functions, which never call it. */
const NO_RUNNER: FunctionRunner = {
  run: () => Promise.reject(new CompositeError("FunctionsDisabled", "composition functions are disabled")),
};

/** @throws {CompositeError} `FatalResult` */
async function runComposition(
  context: ReconcileContext,
  composition: Composition,
  observed: ObservedResource[],
  secret: LiveObject | undefined,
): Promise<PipelineResult> {
  const { xr, runner = NO_RUNNER, signal } = context;
  const run = await runPipeline({
    composite: withoutManagedFields(xr),
    composition,
    observed,
    ...(secret && isControlledBy(secret, xr) && { connectionDetails: secretDetails(secret) }),
    runner,
    signal,
    auth: (step) => pullAuth(context, step),
  });
  for (const result of run.results) if (result.severity !== "Fatal") emitResult(context, result);
  if (run.fatal === undefined) return run;
  const { step = "", message } = run.fatal;
  throw new CompositeError("FatalResult", `pipeline step ${JSON.stringify(step)} returned a fatal result: ${message}`);
}

function emitResult(context: ReconcileContext, { severity, message, step }: StepResult): void {
  const text = step === undefined ? message : `Pipeline step ${JSON.stringify(step)}: ${message}`;
  emitEvent(context, severity === "Normal" ? "Normal" : "Warning", text);
}

async function readConnectionSecret(context: ReconcileContext): Promise<LiveObject | undefined> {
  const secret = secretReferenceOf(context.xr);
  if (secret === undefined) return undefined;
  return findLive(context, referenceOf(SECRETS, secret.name, secret.namespace), context.signal);
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
  for (const resource of resources.values()) {
    const { entry: name } = resource;
    const object = await attempts.run(() => applyComposed(context, resource), name);
    if (object !== undefined) applied.set(name, { ...applied.get(name), name, resource: withoutManagedFields(object) });
  }
  return [...applied.values()];
}

async function publish(
  { xr, definition, client, signal }: ReconcileContext,
  { unready, connectionDetails }: Pick<PipelineResult, "unready" | "connectionDetails">,
  observed: LiveObject | undefined,
): Promise<boolean> {
  const secret = secretReferenceOf(xr);
  // An XR without details yet must not publish an empty Secret, which a claim would copy.
  if (secret === undefined || (observed === undefined && connectionDetails.size === 0 && unready.length > 0)) {
    return false;
  }
  const { connectionSecretKeys: keys } = definition.spec;
  const details = [...connectionDetails].filter(([name]) => keys.length === 0 || keys.includes(name));
  return publishConnectionSecret(client, { owner: xr, secret, details, observed, signal });
}
