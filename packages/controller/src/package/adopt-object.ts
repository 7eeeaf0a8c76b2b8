import { isObject, type JsonObject, objectAt, textAt } from "@xfn/json";
import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { PACKAGE_GROUP } from "@xfn/package";
import { isOwnCrd } from "../kinds/define-kind.ts";
import { appliedFields } from "../objects/applied-fields.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { COMPOSITIONS, CRDS, DEFINITIONS } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue } from "../objects/labels.ts";
import { controllerOf, ownerReferencesOf } from "../objects/owner.ts";
import { servedVersions } from "../objects/served-versions.ts";
import type { Cluster } from "./package-port.ts";

/**
 * Decides whether a revision may adopt an existing object of its package that has no controller. It may in three cases:
 * a package installed the object, its owner handed it over with the label of the package, or the object has no users.
 * The package would otherwise change the object for its users, and deleting the package would delete the object with
 * all instances.
 *
 * @returns why it may not; undefined if it may
 * @throws {ApiError}
 */
export async function adoptionProblem(
  cluster: Pick<Cluster, "client">,
  revision: LiveObject,
  existing: LiveObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (isOwnCrd(existing)) return "the controller installed it";
  if (isOfPackage(existing) || isHandedOver(existing, revision)) return undefined;
  const kinds = await usersOf(cluster, existing, signal);
  if (kinds === undefined) return "no package installed it";
  for (const kind of kinds) {
    const problem = await usageProblem(cluster, kind, signal);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The label by which the owner of an object hands it over to the package of a revision. */
export function handOverLabel(revision: LiveObject): string {
  return `${LABEL_PACKAGE}=${labelValue(packageName(revision))}`;
}

function isHandedOver({ metadata }: LiveObject, revision: LiveObject): boolean {
  return metadata.labels?.[LABEL_PACKAGE] === labelValue(packageName(revision));
}

function packageName(revision: LiveObject): string {
  return controllerOf(revision)?.name ?? revision.metadata.name;
}

/** Whether a package installed an object: a package still owns it, or was deleted with orphans. */
function isOfPackage(object: LiveObject): boolean {
  const isOwned = ownerReferencesOf(object).some((owner) => groupOf(textAt(owner, "apiVersion")) === PACKAGE_GROUP);
  return isOwned || appliedFields(object, FIELD_MANAGERS.packageRevision, "") !== undefined;
}

/** The kinds whose instances use an object; undefined if its users cannot be determined. */
async function usersOf(
  { client }: Pick<Cluster, "client">,
  object: LiveObject,
  signal: AbortSignal,
): Promise<readonly ResourceKind[] | undefined> {
  const spec = objectAt(object, "spec");
  if (object.kind === CRDS.kind) return kindsOf(object, [objectAt(spec, "names")], textAt(spec, "scope"));
  if (object.kind === DEFINITIONS.kind) {
    const { claimNames } = spec;
    return kindsOf(object, [objectAt(spec, "names"), ...(isObject(claimNames) ? [claimNames] : [])], undefined);
  }
  if (object.kind !== COMPOSITIONS.kind) return undefined;
  const type = objectAt(spec, "compositeTypeRef");
  try {
    return [await client.kind(textAt(type, "apiVersion") ?? "", textAt(type, "kind") ?? "", { signal })];
  } catch (error) {
    if (isApiError(error, "KindNotServed")) return [];
    throw error;
  }
}

/**
 * The kinds that a CRD or a definition names, in a served version: a list contains the objects of all versions.
 * Undefined if no version is served.
 */
function kindsOf(
  object: LiveObject,
  names: readonly JsonObject[],
  scope: string | undefined,
): readonly ResourceKind[] | undefined {
  const group = textAt(object, "spec", "group") ?? "";
  const version = textAt(servedVersions(object)[0], "name");
  if (version === undefined) return undefined;
  return names.map((one) => ({
    group,
    version,
    kind: textAt(one, "kind") ?? "",
    plural: textAt(one, "plural") ?? "",
    namespaced: scope === "Namespaced",
  }));
}

async function usageProblem(
  { client }: Pick<Cluster, "client">,
  kind: ResourceKind,
  signal: AbortSignal,
): Promise<string | undefined> {
  const title = `${kind.kind} of ${kind.group}`;
  try {
    const { items } = await client.list(kind, { maxItems: 1, pageSize: 1, metadataOnly: true, signal });
    return items.length === 0 ? undefined : `there are objects of the kind ${title}`;
  } catch (error) {
    if (isApiError(error, "KindNotServed", "NotFound")) return undefined;
    if (!isApiError(error, "Forbidden")) throw error;
    return `the controller may not list the kind ${title} to see whether there are objects`;
  }
}

function groupOf(apiVersion: string | undefined): string | undefined {
  return apiVersion?.split("/")[0];
}
