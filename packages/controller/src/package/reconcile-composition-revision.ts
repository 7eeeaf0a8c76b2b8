import { textAt } from "@xfn/json";
import type { LiveObject, Outcome, Reconcile } from "@xfn/kubernetes";
import { type Condition, conditionOf, isTrue, timestamp } from "../objects/conditions.ts";
import { REVISIONS, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findCached, findLive } from "../objects/read-objects.ts";
import { isEmpty } from "../plan/plan.ts";
import { carryOut, carryOutStatus } from "./carry-out.ts";
import type { Cluster, PackagePort } from "./package-port.ts";
import { type PinnedPackage, packagesOf, pinnedPackages } from "./pinned-packages.ts";
import { type Part, planStatus } from "./plan-status.ts";
import { asInstallError, PackageInstallError } from "./registry/install-error.ts";
import type { PackageImages } from "./registry/package-images.ts";
import { pinnedReference } from "./registry/package-names.ts";
import { isUsed } from "./revision-use.ts";
import {
  disownRuntime,
  ensureRuntime,
  isOwnedRuntime,
  knownRuntime,
  planLeave,
  runtimeName,
} from "./runtime-object.ts";
import { pipelineCondition } from "./valid-pipeline.ts";

/**
 * Reconciles the condition `ValidPipeline` of CompositionRevisions, and their runtimes (Crossplane's design "Controlled
 * Rollout of Composition Functions (v2)"): the revision is an owner of one FunctionRuntime for each
 * `functionRef.package`. The key is the name.
 *
 * The digest of each package is recorded once, before its runtime exists. A rollback then runs the same image, even if
 * the tag has moved. The garbage collector deletes a runtime with the last revision that owns it. A revision that no XR
 * uses gives up its runtimes after a grace period, and gets them back with its next use.
 */
export function compositionRevisionReconciler(port: PackagePort): Reconcile {
  const { cluster, now } = port;
  return async (name, signal) => {
    const cached = await findCached(cluster, REVISIONS, name, signal);
    if (cached === undefined || isBeingDeleted(cached)) return undefined;
    const pipeline = pipelineCondition(cluster, cached);
    if (pipeline !== undefined)
      await carryOut(cluster, cached, planStatus(cached, { conditions: [pipeline], fields: {} }, now()), signal);
    if (!port.hosting.hasRuntimes || packagesOf(cached).length === 0) return undefined;
    const isKept = isUsed(cluster, cached);
    if (isKept) {
      const known = recall(cluster, cached);
      if (known !== undefined && isEmpty(planStatus(cached, known, now()))) return undefined;
    } else if (unusedSince(cached) !== undefined) {
      if (!owns(cluster, cached)) return undefined;
      const left = graceLeft(port, cached);
      if (left > 0) return { requeueAfterMs: left };
    }
    const revision = await findLive(cluster, referenceOf(REVISIONS, name), signal);
    if (revision === undefined || isBeingDeleted(revision)) return undefined;
    return isKept ? await keep(port, revision, signal) : await release(port, revision, signal);
  };
}

/** The needs of a reconcile. */
type Port = Pick<PackagePort, "cluster" | "hosting" | "images" | "now">;

/** Resolves the packages of a revision that XRs use, and makes it an owner of their runtimes. */
async function keep({ cluster, images, now }: Port, revision: LiveObject, signal: AbortSignal): Promise<undefined> {
  const failures: PackageInstallError[] = [];
  const collect = (caught: unknown): void => {
    const error = asInstallError(caught);
    if (signal.aborted || error === undefined) throw caught;
    failures.push(error);
  };
  const known = pinnedPackages(revision);
  const pinned: PinnedPackage[] = [];
  for (const name of packagesOf(revision)) {
    const found = known.find((one) => one.package === name);
    const resolved = found ?? (await resolve(images, revision, name, signal).catch(collect));
    if (resolved !== undefined) pinned.push(resolved);
  }
  const functions = pinned.map((one) => ({ ...one }));
  const recorded = await carryOutStatus(
    cluster,
    revision,
    planStatus(revision, { conditions: [], fields: { functions } }, now()),
    signal,
  );
  const runtimes: LiveObject[] = [];
  for (const { resolvedPackage } of pinned) {
    const runtime = await ensureRuntime({ cluster, images }, resolvedPackage, recorded, signal).catch(collect);
    if (runtime !== undefined) runtimes.push(runtime);
  }
  await carryOut(cluster, recorded, planStatus(recorded, keptStatus(runtimes, failures), now()), signal);
  const [failure] = failures;
  if (failure !== undefined) throw failure;
  return undefined;
}

/** The status of a used revision, as far as the caches show it. */
function recall(cluster: Pick<Cluster, "informers">, revision: LiveObject): Part | undefined {
  const pinned = pinnedPackages(revision);
  if (packagesOf(revision).some((one) => !pinned.some((known) => known.package === one))) return undefined;
  const runtimes = knownRuntimes(cluster, revision).filter((one) => isOwnedRuntime(one, revision));
  return runtimes.length < pinned.length ? undefined : keptStatus(runtimes, []);
}

function knownRuntimes(cluster: Pick<Cluster, "informers">, revision: LiveObject): LiveObject[] {
  return pinnedPackages(revision).flatMap(({ resolvedPackage }) => {
    return knownRuntime(cluster, resolvedPackage, revision) ?? [];
  });
}

/** When a revision was first found unused, in milliseconds since the epoch; undefined if it is used. */
function unusedSince(revision: LiveObject): number | undefined {
  const text = REVISIONS.of(revision).status.unusedSince;
  return text === undefined ? undefined : Date.parse(text);
}

/** The time in milliseconds until an unused revision gives up its runtimes; zero or negative if it has passed. */
function graceLeft({ now, hosting }: Pick<PackagePort, "hosting" | "now">, revision: LiveObject): number {
  return (unusedSince(revision) ?? now()) + hosting.graceMs - now();
}

/** Whether a revision is an owner of a runtime, according to the cache. */
function owns(cluster: Pick<Cluster, "informers">, revision: LiveObject): boolean {
  return knownRuntimes(cluster, revision).some((one) => !isEmpty(planLeave(one, revision)));
}

/**
 * Gives up the runtimes of a revision that no XR has used for the grace period. The start of the period is in the
 * status, so that a restart does not extend it.
 */
async function release(port: Port, revision: LiveObject, signal: AbortSignal): Promise<Outcome | undefined> {
  const { cluster, now } = port;
  const since = REVISIONS.of(revision).status.unusedSince ?? timestamp(now());
  const unused = planStatus(revision, { conditions: [], fields: { unusedSince: since } }, now());
  const recorded = await carryOutStatus(cluster, revision, unused, signal);
  const left = graceLeft(port, recorded);
  if (left > 0) return { requeueAfterMs: left };
  // Set the condition first, so that an XR that uses the revision again gets the reason.
  await carryOut(cluster, recorded, planStatus(recorded, { conditions: [RELEASED], fields: {} }, now()), signal);
  for (const { resolvedPackage } of pinnedPackages(revision))
    await disownRuntime(cluster, resolvedPackage, revision, signal);
  return undefined;
}

const RELEASED: Condition = {
  type: "RuntimesHealthy",
  status: "Unknown",
  reason: "UnusedRevision",
  message: "no composite resource uses the revision, which has given up its runtimes",
};

async function resolve(
  images: PackageImages,
  revision: LiveObject,
  name: string,
  signal: AbortSignal,
): Promise<PinnedPackage> {
  const action = `cannot resolve functionRef.package ${name}`;
  if (!/[:@][^/]*$/.test(name)) {
    const message = `${action}: it has neither a tag nor a digest; add one, such as ${name}:v1.0.0`;
    throw new PackageInstallError("Unavailable", message);
  }
  const resolvedPackage = pinnedReference(name, await images.digestOf(revision, { image: name, action }, signal));
  return { package: name, resolvedPackage, runtime: runtimeName(resolvedPackage) };
}

function keptStatus(runtimes: readonly LiveObject[], failures: readonly PackageInstallError[]): Part {
  return { conditions: [runtimesCondition(runtimes, failures)], fields: { unusedSince: null } };
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
