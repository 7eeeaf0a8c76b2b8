import type { LiveObject, Reconcile } from "@xfn/kubernetes";
import { type Condition, conditionOf, isTrue, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { REVISIONS, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findCached, findLive, textAt } from "../objects/read-objects.ts";
import { type PinnedPackage, packagesOf, pinnedPackages } from "./pinned-packages.ts";
import { askRegistry } from "./registry/ask-registry.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { digestIn, pinnedReference } from "./registry/package-names.ts";
import { ensureRuntime, isOwnedRuntime, knownRuntime, runtimeName } from "./runtime-object.ts";
import { setPackageStatus } from "./set-status.ts";

/**
 * Reconciles the runtimes of CompositionRevisions (Crossplane's design "Controlled Rollout of Composition Functions
 * (v2)"): one FunctionRuntime for each `functionRef.package`, of which the revision is an owner. The key is the name.
 *
 * The digest of each package is recorded once, before its runtime exists: a rollback runs what ran before, also if the
 * tag has moved. The garbage collector deletes a runtime with the last revision that owns it.
 */
export function compositionRevisionReconciler(context: Context): Reconcile {
  return async (name, signal) => {
    const cached = await findCached(context, REVISIONS, name, signal);
    if (cached === undefined || isBeingDeleted(cached) || packagesOf(cached).length === 0) return undefined;
    if (isSettled(context, cached)) return undefined;
    const revision = await findLive(context, referenceOf(REVISIONS, name), signal);
    if (revision === undefined || isBeingDeleted(revision)) return undefined;
    const failures: PackageInstallError[] = [];
    const pinned = await pin(context, revision, failures, signal);
    const recorded = await record(context, revision, pinned, signal);
    const runtimes: LiveObject[] = [];
    for (const { resolvedPackage } of pinned) {
      try {
        runtimes.push(await ensureRuntime(context, resolvedPackage, recorded, signal));
      } catch (error) {
        if (signal.aborted || !(error instanceof PackageInstallError)) throw error;
        failures.push(error);
      }
    }
    const condition = runtimesCondition(runtimes, failures);
    await setPackageStatus(context, recorded, [condition], {}, signal);
    const [failure] = failures;
    if (failure !== undefined) throw failure;
    return undefined;
  };
}

function isSettled(context: Context, revision: LiveObject): boolean {
  const pinned = pinnedPackages(revision);
  if (packagesOf(revision).some((one) => !pinned.some((known) => known.package === one))) return false;
  const runtimes = pinned.map(({ resolvedPackage }) => knownRuntime(context, resolvedPackage, revision));
  const owned = runtimes.filter((one) => one !== undefined && isOwnedRuntime(one, revision)) as LiveObject[];
  if (owned.length < pinned.length) return false;
  return withConditions(revision, [runtimesCondition(owned, [])], context.now()) === undefined;
}

/** Resolves the packages whose digests the revision does not have yet. */
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
    } catch (error) {
      if (signal.aborted || !(error instanceof PackageInstallError)) throw error;
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
    async (registry, auth) => pinnedReference(name, digestIn(name) ?? (await registry.digestOf(name, auth, signal))),
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
