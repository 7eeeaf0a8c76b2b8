import { textAt } from "@xfn/json";
import type { LiveObject, Outcome, Reconcile } from "@xfn/kubernetes";
import { type Condition, conditionOf, isTrue, timestamp, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { REVISIONS, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted, ownerReferencesOf } from "../objects/owner.ts";
import { findCached, findLive } from "../objects/read-objects.ts";
import { type PinnedPackage, packagesOf, pinnedPackages } from "./pinned-packages.ts";
import { setPackageStatus } from "./plan-status.ts";
import { askRegistry } from "./registry/ask-registry.ts";
import { asInstallError, PackageInstallError } from "./registry/install-error.ts";
import { PackageImages } from "./registry/package-images.ts";
import { digestIn, pinnedReference } from "./registry/package-names.ts";
import { isUsed } from "./revision-use.ts";
import { disownRuntime, ensureRuntime, isOwnedRuntime, knownRuntime, runtimeName } from "./runtime-object.ts";
import { pipelineCondition } from "./valid-pipeline.ts";

/**
 * Reconciles the condition `ValidPipeline` of CompositionRevisions, and their runtimes (Crossplane's design "Controlled
 * Rollout of Composition Functions (v2)"): the revision is an owner of one FunctionRuntime for each `functionRef.package`. The key is the name.
 *
 * The digest of each package is recorded once, before its runtime exists. A rollback then runs the same image, even if
 * the tag has moved. The garbage collector deletes a runtime with the last revision that owns it. A revision that no XR
 * uses gives up its runtimes after a grace period, and gets them back with its next use.
 */
export function compositionRevisionReconciler(context: Context): Reconcile {
  const images = new PackageImages(context);
  return async (name, signal) => {
    const cached = await findCached(context, REVISIONS, name, signal);
    if (cached === undefined || isBeingDeleted(cached)) return undefined;
    const pipeline = pipelineCondition(context, cached);
    if (pipeline !== undefined) await setPackageStatus(context, cached, [pipeline], {}, signal);
    if (context.functionRuntimes !== true || packagesOf(cached).length === 0) return undefined;
    const isKept = isUsed(context, cached);
    const wasKept = unusedSince(cached) === undefined;
    if (!isKept && !wasKept && !owns(context, cached)) return undefined;
    const waits = isKept ? undefined : { requeueAfterMs: graceLeft(context, cached) };
    if (isKept === wasKept && (waits?.requeueAfterMs ?? 1) > 0 && isSettled(context, cached)) return waits;
    const revision = await findLive(context, referenceOf(REVISIONS, name), signal);
    if (revision === undefined || isBeingDeleted(revision)) return undefined;
    if (!isKept) return release(context, revision, signal);
    const failures: PackageInstallError[] = [];
    const pinned = await pin(context, revision, failures, signal);
    const recorded = await record(context, revision, pinned, signal);
    const runtimes: LiveObject[] = [];
    for (const { resolvedPackage } of pinned) {
      try {
        runtimes.push(await ensureRuntime({ cluster: context, images }, resolvedPackage, recorded, signal));
      } catch (caught) {
        const error = asInstallError(caught);
        if (signal.aborted || error === undefined) throw caught;
        failures.push(error);
      }
    }
    const condition = runtimesCondition(runtimes, failures);
    await setPackageStatus(context, recorded, [condition], { unusedSince: null }, signal);
    const [failure] = failures;
    if (failure !== undefined) throw failure;
    return undefined;
  };
}

/** When a revision was first found unused, in milliseconds since the epoch; undefined if it is used. */
function unusedSince(revision: LiveObject): number | undefined {
  const text = REVISIONS.of(revision).status.unusedSince;
  return text === undefined ? undefined : Date.parse(text);
}

const DEFAULT_GRACE_MS = 600_000;

/** The time in milliseconds until an unused revision gives up its runtimes; zero or negative if it has passed. */
function graceLeft({ now, runtimeGraceMs = DEFAULT_GRACE_MS }: Context, revision: LiveObject): number {
  return (unusedSince(revision) ?? now()) + runtimeGraceMs - now();
}

/** Whether a revision is an owner of a runtime, according to the cache. */
function owns(context: Context, revision: LiveObject): boolean {
  const runtimes = pinnedPackages(revision).map(({ resolvedPackage }) =>
    knownRuntime(context, resolvedPackage, revision),
  );
  return runtimes.some(
    (one) => one !== undefined && ownerReferencesOf(one).some(({ uid }) => uid === revision.metadata.uid),
  );
}

/**
 * Gives up the runtimes of a revision that no XR has used for the grace period. The start of the period is in the
 * status, so that a restart does not extend it.
 */
async function release(context: Context, revision: LiveObject, signal: AbortSignal): Promise<Outcome | undefined> {
  const since = REVISIONS.of(revision).status.unusedSince ?? timestamp(context.now());
  const recorded = await setPackageStatus(context, revision, [], { unusedSince: since }, signal);
  const left = graceLeft(context, recorded);
  if (left > 0) return { requeueAfterMs: left };
  // Set the condition first, so that an XR that uses the revision again gets the reason.
  await setPackageStatus(context, recorded, [RELEASED], {}, signal);
  for (const { resolvedPackage } of pinnedPackages(revision))
    await disownRuntime(context, resolvedPackage, revision, signal);
  return undefined;
}

const RELEASED: Condition = {
  type: "RuntimesHealthy",
  status: "Unknown",
  reason: "UnusedRevision",
  message: "no composite resource uses the revision, which has given up its runtimes",
};

function isSettled(context: Context, revision: LiveObject): boolean {
  const pinned = pinnedPackages(revision);
  if (packagesOf(revision).some((one) => !pinned.some((known) => known.package === one))) return false;
  const runtimes = pinned.map(({ resolvedPackage }) => knownRuntime(context, resolvedPackage, revision));
  const owned = runtimes.filter((one) => one !== undefined && isOwnedRuntime(one, revision)) as LiveObject[];
  if (owned.length < pinned.length) return false;
  return withConditions(revision, [runtimesCondition(owned, [])], context.now()) === undefined;
}

/** Resolves the packages whose digests are not recorded in the revision yet. */
async function pin(
  context: Context,
  revision: LiveObject,
  failures: PackageInstallError[],
  signal: AbortSignal,
): Promise<PinnedPackage[]> {
  const known = pinnedPackages(revision);
  const pinned: PinnedPackage[] = [];
  for (const name of packagesOf(revision)) {
    const found = known.find((one) => one.package === name);
    try {
      pinned.push(found ?? (await resolve(context, revision, name, signal)));
    } catch (caught) {
      const error = asInstallError(caught);
      if (signal.aborted || error === undefined) throw caught;
      failures.push(error);
    }
  }
  return pinned;
}

async function resolve(
  context: Context,
  revision: LiveObject,
  name: string,
  signal: AbortSignal,
): Promise<PinnedPackage> {
  const action = `cannot resolve functionRef.package ${name}`;
  if (!/[:@][^/]*$/.test(name)) {
    const message = `${action}: it has neither a tag nor a digest; add one, such as ${name}:v1.0.0`;
    throw new PackageInstallError("Unavailable", message);
  }
  const resolvedPackage = await askRegistry(
    context,
    revision,
    { image: name, action },
    async (registry, auth, image) =>
      pinnedReference(name, digestIn(name) ?? (await registry.digestOf(image, auth, signal))),
    signal,
  );
  return { package: name, resolvedPackage, runtime: runtimeName(resolvedPackage) };
}

/** @returns the revision as the server stored it */
async function record(
  context: Context,
  revision: LiveObject,
  pinned: readonly PinnedPackage[],
  signal: AbortSignal,
): Promise<LiveObject> {
  return setPackageStatus(context, revision, [], { functions: pinned.map((one) => ({ ...one })) }, signal);
}

function runtimesCondition(runtimes: readonly LiveObject[], failures: readonly PackageInstallError[]): Condition {
  const type = "RuntimesHealthy";
  const problems = [
    ...failures.map(({ message }) => message),
    ...runtimes.filter((runtime) => !isTrue(runtime, "Healthy")).map(runtimeProblem),
  ];
  if (problems.length === 0) return { type, status: "True", reason: "HealthyRuntimes" };
  return { type, status: "False", reason: "UnhealthyRuntimes", message: problems.join("; ") };
}

/** Why a runtime is not healthy. */
function runtimeProblem(runtime: LiveObject): string {
  const why = textAt(conditionOf(runtime, "Healthy"), "message") ?? "it is being prepared";
  return `the FunctionRuntime ${runtime.metadata.name} is not healthy: ${why}`;
}
