import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { LABEL_PACKAGE } from "../objects/labels.ts";
import { type ControllerReference, controllerOf, controllerReferenceTo, ownerReferencesOf } from "../objects/owner.ts";
import { isActive, numberOf } from "./package-conditions.ts";
import type { PackageKinds } from "./package-kinds.ts";
import type { Cluster } from "./package-port.ts";

/** The other revisions of a revision's package, according to the cache. */
export function siblingsOf(
  { informers }: Pick<Cluster, "informers">,
  kinds: PackageKinds,
  revision: LiveObject,
): LiveObject[] {
  const label = revision.metadata.labels?.[LABEL_PACKAGE];
  const owner = controllerOf(revision)?.uid;
  return (informers.peek(kinds.revisionKind)?.list() ?? []).filter(
    (other) =>
      other.metadata.uid !== revision.metadata.uid &&
      other.metadata.labels?.[LABEL_PACKAGE] === label &&
      controllerOf(other)?.uid === owner,
  );
}

/** Whether a revision is active while another active revision of its package has a higher number. */
export function isOutdated(revision: LiveObject, siblings: readonly LiveObject[]): boolean {
  return siblings.some((other) => isActive(other) && numberOf(other) > numberOf(revision));
}

/** Whether a revision may write an object of its package, and the reason. */
export type Claim =
  /** No other owner controls the object. */
  | { readonly may: true; readonly ownerReferences: JsonObject[] }
  /** A newer revision of the package controls it. */
  | { readonly may: false; readonly by: "newer" }
  /** Another owner controls it. */
  | { readonly may: false; readonly by: "other"; readonly controller: string };

/**
 * Decides whether a revision may control an object of its package. Control passes from one revision to the next in a
 * single write, so that the garbage collector never sees an object without an owner. As in Crossplane, the package also
 * owns the object, so that a revision without the object does not delete it.
 */
export function claimOf(
  revision: LiveObject,
  siblings: readonly LiveObject[],
  existing: LiveObject | undefined,
): Claim {
  const holder = existing && controllerOf(existing);
  const sibling = siblings.find(({ metadata }) => metadata.uid === holder?.uid);
  if (holder !== undefined && holder.uid !== revision.metadata.uid && !isNamesake(holder, revision)) {
    if (sibling === undefined) return { may: false, by: "other", controller: `${holder.kind} ${holder.name}` };
    if (isActive(sibling) && numberOf(sibling) > numberOf(revision)) return { may: false, by: "newer" };
  }
  const parent = controllerOf(revision);
  const kept = (existing === undefined ? [] : ownerReferencesOf(existing)).filter(({ uid }) =>
    siblings.some(({ metadata }) => metadata.uid === uid),
  );
  return {
    may: true,
    ownerReferences: [
      ...kept.map(asPlainOwner),
      ...(parent === undefined ? [] : [asPlainOwner({ ...parent })]),
      controllerReferenceTo(revision),
    ],
  };
}

/** Whether an owner is a deleted revision of the same name: only one object can have a name at a time. */
function isNamesake({ apiVersion, kind, name }: ControllerReference, revision: LiveObject): boolean {
  return apiVersion === revision.apiVersion && kind === revision.kind && name === revision.metadata.name;
}

/** The owner references of an object, without `controller: true` for the owner with this UID. */
export function withoutControl(object: LiveObject, uid: string): JsonObject[] {
  return ownerReferencesOf(object).map((one) => (one["uid"] === uid ? asPlainOwner(one) : one));
}

function asPlainOwner({ apiVersion = null, kind = null, name = null, uid = null }: JsonObject): JsonObject {
  return { apiVersion, kind, name, uid, controller: false, blockOwnerDeletion: false };
}
