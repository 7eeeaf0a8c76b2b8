import { someOf } from "@xfn/errors";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { isApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import type { ApplyCache } from "../objects/apply-cache.ts";
import { controllerOf, isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, referenceTo } from "../objects/references.ts";
import { execute, executeOrThrow } from "../plan/execute.ts";
import { inParallel } from "../plan/in-parallel.ts";
import { firstFailure, type Outcome } from "../plan/outcome.ts";
import { isEmpty } from "../plan/plan.ts";
import { adoptionProblem, handOverLabel } from "./adopt-object.ts";
import { crdOf, isManagedDefinition } from "./managed/managed-definition.ts";
import type { Cluster } from "./package-port.ts";
import {
  type Establishing,
  intentOf,
  MAX_NAMED,
  objectRefsOf,
  planEstablish,
  planRelease,
  recordOf,
} from "./plan-establish.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { servedElsewhere } from "./served-elsewhere.ts";

/**
 * Creates or updates the objects of a revision's package, and makes the revision their controller. Checks all of them
 * before the first write. If another owner controls one of the objects, or the API server rejects one, nothing changes.
 *
 * An object without a controller is adopted if a package installed it or it has no users: see {@link adoptionProblem}.
 *
 * @returns `status.objectRefs`
 * @throws {PackageInstallError} `NameTaken` or `NotEstablished`
 * @throws {ApiError}
 */
export async function establishObjects(
  cluster: Cluster,
  applies: ApplyCache,
  establishing: Establishing,
  objects: readonly JsonObject[],
  signal: AbortSignal,
): Promise<JsonObject[]> {
  const intents = objects.map((object) => intentOf(object, establishing));
  const seen = await inParallel(intents, async (intent) => {
    const existing = await existingOf(cluster, intent, signal);
    const isNew = existing === undefined && isManagedDefinition(intent);
    return { intent, existing, crd: isNew ? await existingOf(cluster, crdOf(intent), signal) : undefined };
  });
  const found = seen.flatMap(({ existing, crd }) => existing ?? crd ?? []);
  await requireAdoptable(cluster, establishing.revision, found, signal);
  const { plan, kept } = planEstablish(establishing, seen, applies);
  const execution = { actors: { own: cluster }, signal };
  requireAccepted(await execute(plan, { ...execution, dryRun: true }));
  const outcome = await execute(plan, execution);
  for (const [action, result] of outcome.results)
    if (action.do === "apply" && result.is === "done" && result.object !== undefined)
      applies.record(action.intent, result.object, { fieldManager: action.manager });
  requireAccepted(outcome);
  if (!isEmpty(plan)) cluster.client.forgetKinds();
  return kept.flatMap(({ reference, existing }) => {
    const object = outcome.latest(reference) ?? existing;
    return object === undefined ? [] : [recordOf(object)];
  });
}

/**
 * Gives up control of the objects that a revision established: see {@link planRelease}.
 *
 * @throws {ApiError}
 */
export async function releaseObjects(cluster: Cluster, revision: LiveObject, signal: AbortSignal): Promise<void> {
  const found = await inParallel(establishedBy(revision), (reference) =>
    findLive(cluster, reference, signal).catch(unlessNotServed),
  );
  const objects = found.filter((object) => object !== undefined);
  await executeOrThrow(planRelease(revision, objects), { actors: { own: cluster }, signal });
}

function establishedBy(revision: LiveObject): ObjectReference[] {
  return (objectRefsOf(revision) ?? []).flatMap((one) => {
    const { apiVersion, kind, name } = one;
    return apiVersion === undefined || kind === undefined || name === undefined ? [] : [{ apiVersion, kind, name }];
  });
}

async function existingOf(
  cluster: Cluster,
  intent: KubernetesObject,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const reference = referenceTo(intent);
  const existing = await findLive(cluster, reference, signal).catch((error: unknown) => refused(reference, error));
  if (existing === undefined) await requireUnserved(cluster, intent, signal);
  if (existing === undefined || !isBeingDeleted(existing)) return existing;
  const message = `the ${describeReference(reference)} of the package is being deleted; the controller waits for it`;
  throw new PackageInstallError("NotEstablished", message, { retryable: true });
}

/** @throws {PackageInstallError} `NameTaken` if an object must not be adopted */
async function requireAdoptable(
  cluster: Cluster,
  revision: LiveObject,
  objects: readonly LiveObject[],
  signal: AbortSignal,
): Promise<void> {
  const unowned = objects.filter((one) => controllerOf(one) === undefined);
  const problems = await inParallel(unowned, (one) => adoptionProblem(cluster, revision, one, signal));
  const refusals = unowned.flatMap((one, index) => {
    const problem = problems[index];
    return problem === undefined ? [] : [`${describeReference(referenceTo(one))}, because ${problem}`];
  });
  if (refusals.length === 0) return;
  const message =
    `cannot adopt objects that exist: ${someOf(refusals, MAX_NAMED)}; remove them from this package, delete them, or label them ` +
    `${handOverLabel(revision)} to hand them over to it`;
  throw new PackageInstallError("NameTaken", message, { retryable: true });
}

/** @throws {PackageInstallError} `NotEstablished` if the API server already serves the kind of a new CRD */
async function requireUnserved(
  { client }: Pick<Cluster, "client">,
  crd: KubernetesObject,
  signal: AbortSignal,
): Promise<void> {
  const version = await servedElsewhere(client, crd, signal);
  if (version === undefined) return;
  const message =
    `the package has the ${describeReference(referenceTo(crd))}, which does not exist, but this API server serves its ` +
    `kind in ${version}: an aggregated API does, or the CRD was just deleted; use a package without it`;
  throw new PackageInstallError("NotEstablished", message, { retryable: true });
}

/** @throws {PackageInstallError} if an object is the cause of a failure, otherwise the original error */
function requireAccepted(outcome: Outcome): void {
  const failure = firstFailure(outcome);
  if (failure !== undefined) refused(failure.action.on, failure.error);
}

/** @throws {PackageInstallError} if the object is the cause, otherwise the original error */
function refused(on: ObjectReference, error: unknown): never {
  const what = describeReference(on);
  const options = { cause: error, retryable: true };
  if (isApiError(error, "KindNotServed")) {
    const message = `the package has the ${what}, and this API server does not serve ${on.apiVersion}`;
    throw new PackageInstallError("NotEstablished", `${message}; use a package without it`, options);
  }
  if (isApiError(error, "Invalid")) {
    const message = `the API server rejects the ${what} of the package: ${error.message}; correct the package`;
    throw new PackageInstallError("NotEstablished", message, options);
  }
  if (isApiError(error, "Forbidden")) {
    const message = `the controller may not write the ${what} of the package: ${error.message}; extend its ClusterRole`;
    throw new PackageInstallError("NotEstablished", message, options);
  }
  throw error;
}

function unlessNotServed(error: unknown): undefined {
  if (!isApiError(error, "KindNotServed")) throw error;
  return undefined;
}
