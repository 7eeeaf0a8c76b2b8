import { isApiError, type Reconcile } from "@xfn/kubernetes";
import { FUNCTIONS, referenceOf } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue, selectorText } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { isEmpty } from "../plan/plan.ts";
import { carryOut } from "./carry-out.ts";
import { PackageDigests } from "./package-digests.ts";
import type { PackageKinds } from "./package-kinds.ts";
import type { PackagePort } from "./package-port.ts";
import { planFailed, planPackage, type ResolvedPackage, revisionsOf, type SeenPackage } from "./plan-package.ts";
import { asInstallError, PackageInstallError } from "./registry/install-error.ts";

/** The needs of the reconciler of packages. */
type Port = Pick<PackagePort, "cluster" | "images" | "now">;

/**
 * Reconciles the revisions of packages (https://docs.crossplane.io/latest/packages/functions/). The key is the
 * package's name.
 *
 * Existing revisions are not changed until the package's digest is known, even if the registry fails.
 */
export function packageReconciler(port: Port, kinds: PackageKinds): Reconcile {
  const digests = new PackageDigests(port);
  return async (name, signal) => {
    await port.images.whenListed(signal);
    const cached = peek(port, kinds, name);
    if (cached !== undefined) {
      const recalled = digests.recall(cached);
      const isSettled = recalled !== undefined && isEmpty(planPackage(cached, recalled, port.now()));
      if (isSettled || isPaused(cached.object)) return digests.dueIn(name);
    }
    const seen = await observe(port, kinds, name, signal);
    if (seen === undefined) digests.forget(name);
    if (seen === undefined || isPaused(seen.object)) return undefined;
    try {
      const resolved = digests.recall(seen) ?? (await digests.ask(seen, signal));
      // As in Crossplane, a package has no revision before its signature is verified.
      if (revisionsOf(seen, resolved.digest).current === undefined)
        await port.images.verify(seen.object, resolved.digest, signal);
      await write(port, seen, resolved, signal);
    } catch (caught) {
      const error = asInstallError(caught);
      if (signal.aborted || error === undefined) throw caught;
      await carryOut(port.cluster, seen.object, planFailed(seen, error, port.now()), signal);
      throw error;
    }
    return digests.dueIn(name);
  };
}

/** The package according to the caches; undefined if they lack it, or it is being deleted. */
function peek({ cluster, images }: Port, { kind, revisionKind }: PackageKinds, name: string): SeenPackage | undefined {
  const object = cluster.informers.peek(kind)?.get(name);
  const revisions = cluster.informers.peek(revisionKind)?.list();
  if (object === undefined || revisions === undefined || isBeingDeleted(object)) return undefined;
  return { object, revisionKind, revisions, settings: images.settings(FUNCTIONS.of(object).spec.package ?? "") };
}

/** Reads a package; undefined if it does not exist, or is being deleted. */
async function observe(
  { cluster, images }: Port,
  { kind, revisionKind }: PackageKinds,
  name: string,
  signal: AbortSignal,
): Promise<SeenPackage | undefined> {
  const object = await findLive(cluster, referenceOf(kind, name), signal);
  if (object === undefined || isBeingDeleted(object)) return undefined;
  const settings = images.settings(FUNCTIONS.of(object).spec.package ?? "");
  if (isPaused(object)) return { object, revisionKind, revisions: [], settings };
  const labelSelector = selectorText({ [LABEL_PACKAGE]: labelValue(name) });
  const { items: revisions } = await cluster.client.list(revisionKind, { labelSelector, signal });
  return { object, revisionKind, revisions, settings };
}

/** @throws {PackageInstallError} `NameTaken` if another object has the name of the revision */
async function write(
  { cluster, now }: Port,
  seen: SeenPackage,
  resolved: ResolvedPackage,
  signal: AbortSignal,
): Promise<void> {
  const { object, revisionKind } = seen;
  try {
    await carryOut(cluster, object, planPackage(seen, resolved, now()), signal);
  } catch (cause) {
    if (!isApiError(cause, "AlreadyExists")) throw cause;
    const { name } = revisionsOf(seen, resolved.digest);
    const existing = await findLive(cluster, referenceOf(revisionKind, name), signal);
    // Another controller was faster, or the server's list for the cache lags. The next reconcile sees the revision.
    if (existing !== undefined && isControlledBy(existing, object)) return;
    const message = `the ${revisionKind.kind} ${name} exists and does not belong to it; delete that object`;
    throw new PackageInstallError("NameTaken", message, { cause });
  }
}
