import { isApiError, type LiveObject, type Reconcile } from "@xfn/kubernetes";
import type { Installation } from "@xfn/package";
import { conditionOf } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_LOCK, finalizersOf } from "../objects/finalizers.ts";
import { LOCK_NAME, LOCKS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { findLive } from "../objects/read-objects.ts";
import type { Action } from "../plan/action.ts";
import { isEmpty } from "../plan/plan.ts";
import { carryOut, type NotedPlan } from "./carry-out.ts";
import { PACKAGES } from "./package-kinds.ts";
import { lockedIn, planPrune } from "./package-lock.ts";
import type { Cluster, PackagePort } from "./package-port.ts";
import { type Part, planStatus } from "./plan-status.ts";
import { asInstallError } from "./registry/install-error.ts";
import { DependencyResolver, type ResolvedLock } from "./resolve-dependencies.ts";

/**
 * Reconciles the only Lock: removes entries whose revision is gone or inactive, installs and updates the packages that
 * others need, and reports the result as the condition `Resolved`.
 */
export function lockReconciler(port: Pick<PackagePort, "cluster" | "images" | "dependencyChanges" | "now">): Reconcile {
  const { cluster, images, now } = port;
  const resolver = new DependencyResolver(port);
  const resolve = (lock: LiveObject, signal: AbortSignal): Promise<ResolvedLock> =>
    resolver.resolve(lockedIn(cluster, lock), signal);
  return async (_, signal) => {
    await images.whenListed(signal);
    const cached = cluster.informers.peek(LOCKS)?.get(LOCK_NAME);
    if (cached === undefined) return undefined;
    let resolved = await resolve(cached, signal);
    const status = planStatus(cached, statusOf(cluster, cached, resolved), now());
    if (!isEmpty(planWrites(cluster, cached, resolved)) || !isEmpty(status)) {
      // The caches of the Lock and the packages have different delays: an old Lock must not undo an update.
      const lock = await findLive(cluster, referenceOf(LOCKS, LOCK_NAME), signal);
      if (lock === undefined) return undefined;
      resolved = await wanted(resolver, lockedIn(cluster, lock), await resolve(lock, signal), signal);
      await write(port, lock, resolved, signal);
    }
    for (const failure of resolved.failures.values()) throw failure;
    return undefined;
  };
}

/** The result without the changes that only packages need that are being deleted, according to the server. */
async function wanted(
  resolver: DependencyResolver,
  packages: ReturnType<typeof lockedIn>,
  resolved: ResolvedLock,
  signal: AbortSignal,
): Promise<ResolvedLock> {
  const stays = async (changes: readonly Installation[]): Promise<Installation[]> => {
    const kept = await Promise.all(changes.map((one) => resolver.isWanted(packages, one.source, signal)));
    return changes.filter((_, at) => kept[at]);
  };
  return { ...resolved, install: await stays(resolved.install), update: await stays(resolved.update) };
}

async function write(
  { cluster, now }: Pick<PackagePort, "cluster" | "now">,
  lock: LiveObject,
  resolved: ResolvedLock,
  signal: AbortSignal,
): Promise<void> {
  let latest = lock;
  let refusal: Error | undefined;
  try {
    const outcome = await carryOut(cluster, lock, planWrites(cluster, lock, resolved), signal);
    latest = outcome.latest(referenceOf(LOCKS, LOCK_NAME)) ?? lock;
  } catch (error) {
    // The cache does not have the object yet.
    if (!isApiError(error, "AlreadyExists")) {
      refusal = asInstallError(error);
      if (refusal === undefined) throw error;
    }
  }
  await carryOut(cluster, latest, planStatus(latest, statusOf(cluster, latest, resolved, refusal), now()), signal);
  if (refusal !== undefined) throw refusal;
}

/** Plans everything but the status of the Lock. A package that the server refuses prevents no other. */
function planWrites(cluster: Cluster, lock: LiveObject, { install, update }: ResolvedLock): NotedPlan {
  const common = { as: "own", manager: FIELD_MANAGERS.package } as const;
  const creates = install.map(({ kind, name, package: image }): Action => {
    const object = { ...typeMeta(PACKAGES[kind].kind), metadata: { name }, spec: { package: image } };
    const why = `installs ${image} as the ${kind} ${name}, because other packages need it`;
    return { ...common, on: referenceOf(PACKAGES[kind].kind, name), why, do: "create", object };
  });
  const patches = update.flatMap(({ kind, name, package: image }): Action[] => {
    const seen = cluster.informers.peek(PACKAGES[kind].kind)?.get(name);
    if (seen === undefined) return [];
    const why = `changes the ${kind} ${name} to ${image}, because other packages need it`;
    const body = { spec: { package: image } };
    return [{ ...common, on: referenceOf(PACKAGES[kind].kind, name), why, do: "patch", body, seen, guard: "version" }];
  });
  const actions = [...creates, ...patches, ...planRelease(cluster, lock)];
  return {
    stages: [...planPrune(cluster, lock).stages, { name: "dependencies", actions, onFailure: "collect" }],
    notes: new Map(
      [...creates, ...patches].map((one) => [
        one,
        [{ type: "Normal", reason: "ResolveDependencies", message: one.why }],
      ]),
    ),
  };
}

/** Plans to remove Crossplane's finalizer from a Lock without packages, so that its CRD can be deleted. */
function planRelease(cluster: Cluster, lock: LiveObject): Action[] {
  const finalizers = finalizersOf(lock);
  if (lockedIn(cluster, lock).length > 0 || !finalizers.includes(FINALIZER_LOCK)) return [];
  const body = { metadata: { finalizers: finalizers.filter((one) => one !== FINALIZER_LOCK) } };
  const why = "no package is installed";
  const common = { as: "own", manager: FIELD_MANAGERS.package, on: referenceOf(LOCKS, LOCK_NAME), why } as const;
  return [{ ...common, do: "patch", body, seen: lock, guard: "version" }];
}

/** @param refusal of the API server */
function statusOf(cluster: Cluster, lock: LiveObject, resolved: ResolvedLock, refusal?: Error): Part {
  if (lockedIn(cluster, lock).length === 0)
    return { conditions: [], fields: conditionOf(lock, "Resolved") === undefined ? {} : { conditions: [] } };
  const causes = [...resolved.problems, ...resolved.failures.values(), ...(refusal === undefined ? [] : [refusal])];
  const message = causes.map((cause) => cause.message).join("; ");
  const [status, reason] =
    causes.length === 0
      ? (["True", "DependencyResolutionSucceeded"] as const)
      : (["False", "DependencyResolutionFailed"] as const);
  return { conditions: [{ type: "Resolved", status, reason, ...(message !== "" && { message }) }], fields: {} };
}
