import { sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { parseReference } from "@xfn/oci-rootfs";
import { type Dependency, type LockedPackage, lockEntry, readLock } from "@xfn/package";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FUNCTION_REVISIONS, LOCK_NAME, LOCKS, referenceOf, typeMeta } from "../objects/kinds.ts";
import { findLive } from "../objects/read-objects.ts";
import { isActive, skipsDependencies } from "./package-conditions.ts";
import { PACKAGES, type PackageKinds } from "./package-kinds.ts";

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
export function lockedPackages(context: Context): LockedPackage[] {
  const lock = context.informers.peek(LOCKS)?.get(LOCK_NAME);
  return lock === undefined ? [] : asResolved(context, packagesIn(context, lock));
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
  context: Context,
  entry: LockedPackage,
  siblings: readonly string[],
  signal: AbortSignal,
): Promise<LockedPackage[]> {
  const lock = await findLive(context, referenceOf(LOCKS, LOCK_NAME), signal);
  const isReplaced = ({ kind, name }: LockedPackage): boolean =>
    kind === entry.kind && (name === entry.name || siblings.includes(name));
  const others = lock === undefined ? [] : packagesIn(context, lock).filter((one) => !isReplaced(one));
  const packages = [...others, entry];
  await write(context, lock, packages, signal);
  return asResolved(context, packages);
}

/**
 * Removes entries from the Lock whose revision is gone or inactive.
 *
 * @throws {ApiError} `Conflict` if another reconcile was faster
 */
export async function pruneLock(context: Context, signal: AbortSignal): Promise<void> {
  const cached = context.informers.peek(LOCKS)?.get(LOCK_NAME);
  if (cached === undefined || packagesIn(context, cached).length === readLock(cached["packages"]).length) return;
  const lock = await findLive(context, referenceOf(LOCKS, LOCK_NAME), signal);
  if (lock !== undefined) await write(context, lock, packagesIn(context, lock), signal);
}

function asResolved({ informers }: Context, packages: readonly LockedPackage[]): LockedPackage[] {
  return packages.map((one) => {
    const revision = informers.peek(PACKAGES[one.kind].revisionKind)?.get(one.name);
    return revision !== undefined && skipsDependencies(revision) ? { ...one, dependencies: [] } : one;
  });
}

function packagesIn(context: Context, lock: LiveObject): LockedPackage[] {
  return readLock(lock["packages"]).filter(({ kind, name }) => {
    const cache = context.informers.peek(PACKAGES[kind].revisionKind);
    if (cache === undefined) return true;
    const revision = cache.get(name);
    return revision !== undefined && isActive(revision);
  });
}

async function write(
  { client }: Context,
  lock: LiveObject | undefined,
  packages: readonly LockedPackage[],
  signal: AbortSignal,
): Promise<void> {
  const entries = packages
    .toSorted((a, b) => (`${a.source} ${a.name}` < `${b.source} ${b.name}` ? -1 : 1))
    .map((one) => lockEntry(one));
  const options = { fieldManager: FIELD_MANAGERS.packageRevision, signal };
  if (lock === undefined) {
    const body = { ...typeMeta(LOCKS), metadata: { name: LOCK_NAME }, packages: entries };
    // If another revision has created it in the meantime, the retry reads it.
    await client.create(body, options);
    return;
  }
  if (sameJson(lock["packages"] ?? [], entries)) return;
  const { resourceVersion } = lock.metadata;
  await client.patch(
    referenceOf(LOCKS, LOCK_NAME),
    "merge",
    { metadata: { resourceVersion }, packages: entries },
    options,
  );
}
