import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { reservedGroupOwner } from "@xfn/package/reserved-groups";
import { conditionOf, isTrue } from "../objects/conditions.ts";
import { CRDS, MANAGED_DEFINITIONS, PROVIDER_REVISIONS, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted, ownerReferencesOf } from "../objects/owner.ts";
import { findLive, type Reader } from "../objects/read-objects.ts";
import { DEFINITION_CACHE, stateOf } from "../package/managed/observed-state.ts";
import { inParallel } from "../plan/in-parallel.ts";

/**
 * The CRDs that the revisions of a provider's runtime established, as their status names them, and those of active
 * ManagedResourceDefinitions.
 */
export function providedCrds(reader: Reader, runtime: LiveObject): { readonly name: string; readonly uid: string }[] {
  const found = revisionsOf(reader, runtime).flatMap((one) => PROVIDER_REVISIONS.of(one).status.objectRefs);
  const definitions = reader.informers.peek(MANAGED_DEFINITIONS, DEFINITION_CACHE);
  const isServed = (name: string): boolean => {
    const definition = definitions?.get(name);
    return definitions === undefined || (definition !== undefined && stateOf(definition) === "Active");
  };
  const crds = found.filter(
    ({ kind, name = "" }) => kind === CRDS.kind || (kind === MANAGED_DEFINITIONS.kind && isServed(name)),
  );
  const byName = new Map(crds.map(({ name = "", uid = "" }) => [name, uid]));
  return [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, uid]) => ({ name, uid }));
}

/** The revisions that own a runtime. The UIDs must match, because the author of a runtime can name any owner. */
export function revisionsOf({ informers }: Reader, runtime: LiveObject): LiveObject[] {
  const revisions = informers.peek(PROVIDER_REVISIONS);
  return ownerReferencesOf(runtime).flatMap((owner) => {
    const revision = revisions?.get(textAt(owner, "name") ?? "");
    return revision !== undefined && revision.metadata.uid === textAt(owner, "uid") ? [revision] : [];
  });
}

/**
 * The resources that the API server serves for CRDs of a provider, by group. They are read from the CRDs, not from
 * their names: a CRD that is not established serves nothing, and the provider may not own it.
 *
 * @throws {ApiError}
 */
export async function servedResources(
  reader: Reader,
  runtime: LiveObject,
  signal: AbortSignal,
): Promise<{ readonly served: ReadonlyMap<string, readonly string[]>; readonly pending: readonly string[] }> {
  const owners = revisionsOf(reader, runtime).map(({ metadata }) => metadata.uid);
  const names = providedCrds(reader, runtime).map(({ name }) => name);
  const crds = await inParallel(names, (name) => findLive(reader, referenceOf(CRDS, name), signal));
  const served = new Map<string, string[]>();
  const pending: string[] = [];
  for (const crd of crds) {
    if (crd === undefined || isBeingDeleted(crd) || !isOwnedBy(crd, owners)) continue;
    const group = textAt(crd, "spec", "group");
    const plural = textAt(crd, "status", "acceptedNames", "plural");
    if (group === undefined || reservedGroupOwner(group) !== undefined) continue;
    if (isTrue(crd, "Established") && plural !== undefined) served.set(group, [...(served.get(group) ?? []), plural]);
    else if (conditionOf(crd, "NamesAccepted")?.["status"] !== "False") pending.push(crd.metadata.name);
  }
  return { served, pending };
}

function isOwnedBy(crd: LiveObject, owners: readonly string[]): boolean {
  return ownerReferencesOf(crd).some(({ uid }) => typeof uid === "string" && owners.includes(uid));
}
