import { sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { parseReference } from "@xfn/oci-rootfs";
import { type Dependency, type LockedPackage, lockEntry, readLock } from "@xfn/package";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FUNCTION_REVISIONS, LOCK_NAME, LOCKS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { findLive } from "../objects/read-objects.ts";
import type { Action } from "../plan/action.ts";
import { executeOrThrow } from "../plan/execute.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";
import { isActive, skipsDependencies } from "./package-conditions.ts";
import { PACKAGES, type PackageKinds } from "./package-kinds.ts";
import type { Cluster } from "./package-port.ts";

/** The entry of an active revision in the Lock. */
export function entryOf(
  { packageKind }: PackageKinds,
  revision: LiveObject,
  dependencies: readonly Dependency[],
): LockedPackage {
  const { location: source, tag, digest = "" } = parseReference(FUNCTION_REVISIONS.of(revision).spec.image ?? "");
  return { kind: packageKind, name: revision.metadata.name, source, version: tag ?? digest, dependencies };
}

/**
 * The installed packages, as far as the caches of the Lock and the revisions show. A package that skips the resolution
 * of its dependencies is not among them.
 */
export function lockedPackages(cluster: Cluster): LockedPackage[] {
  const lock = cluster.informers.peek(LOCKS)?.get(LOCK_NAME);
  return lock === undefined ? [] : lockedIn(cluster, lock);
}

/**
 * Writes the entry of a revision into the Lock, and replaces the entries of the other revisions of its package. Also
 * removes entries whose revision is gone.
 *
 * @param siblings the names of the other revisions
 * @returns all packages
 * @throws {ApiError} `Conflict` if another reconcile was faster
 */
export async function lockPackage(
  cluster: Cluster,
  entry: LockedPackage,
  siblings: readonly string[],
  signal: AbortSignal,
): Promise<LockedPackage[]> {
  const lock = await findLive(cluster, referenceOf(LOCKS, LOCK_NAME), signal);
  const isReplaced = ({ kind, name }: LockedPackage): boolean =>
    kind === entry.kind && (name === entry.name || siblings.includes(name));
  const others = lock === undefined ? [] : packagesIn(cluster, lock).filter((one) => !isReplaced(one));
  const packages = [...others, entry];
  await executeOrThrow(planLock(lock, packages), { actors: { own: cluster }, signal });
  return asResolved(cluster, packages);
}

/** The installed packages in a Lock, as {@link lockedPackages} has them. */
export function lockedIn(cluster: Cluster, lock: LiveObject): LockedPackage[] {
  return asResolved(cluster, packagesIn(cluster, lock));
}

/** Plans to remove entries from the Lock whose revision is gone or inactive. */
export function planPrune(cluster: Cluster, lock: LiveObject): Plan {
  const packages = packagesIn(cluster, lock);
  return packages.length === readLock(lock["packages"]).length ? { stages: [] } : planLock(lock, packages);
}

function asResolved({ informers }: Cluster, packages: readonly LockedPackage[]): LockedPackage[] {
  return packages.map((one) => {
    const revision = informers.peek(PACKAGES[one.kind].revisionKind)?.get(one.name);
    return revision !== undefined && skipsDependencies(revision) ? { ...one, dependencies: [] } : one;
  });
}

function packagesIn(cluster: Cluster, lock: LiveObject): LockedPackage[] {
  return readLock(lock["packages"]).filter(({ kind, name }) => {
    const cache = cluster.informers.peek(PACKAGES[kind].revisionKind);
    if (cache === undefined) return true;
    const revision = cache.get(name);
    return revision !== undefined && isActive(revision);
  });
}

/** Plans the entries of the Lock. If another revision creates it in the meantime, the retry reads it. */
function planLock(lock: LiveObject | undefined, packages: readonly LockedPackage[]): Plan {
  const entries = packages
    .toSorted((a, b) => (`${a.source} ${a.name}` < `${b.source} ${b.name}` ? -1 : 1))
    .map((one) => lockEntry(one));
  if (lock !== undefined && sameJson(lock["packages"] ?? [], entries)) return { stages: [] };
  const common = {
    as: "own",
    manager: FIELD_MANAGERS.packageRevision,
    on: referenceOf(LOCKS, LOCK_NAME),
    why: "it names the active revisions",
  } as const;
  const write: Action =
    lock === undefined
      ? { ...common, do: "create", object: { ...typeMeta(LOCKS), metadata: { name: LOCK_NAME }, packages: entries } }
      : { ...common, do: "patch", body: { packages: entries }, seen: lock, guard: "version" };
  return planInOrder("lock", [write]);
}
