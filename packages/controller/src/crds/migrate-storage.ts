import { setTimeout as sleep } from "node:timers/promises";
import { CodedError, messageOf } from "@xfn/errors";
import { type JsonObject, listAt, objectsAt, textAt, valueAt } from "@xfn/json";
import { type Client, isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { isOwnCrd } from "../kinds/define-kind.ts";
import { CRDS, referenceOf } from "../objects/kinds.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { kindsOf, type ServedKinds } from "./controller-crds.ts";

// A log of 100,000 objects has a hundred lines.
const REPORT_EVERY = 1_000;

// Each API server watches CRDs. Until it sees the change, it stores objects in the former version.
const SETTLE_MS = 5_000;

/** How many objects of a CRD have been stored again. */
export interface StorageProgress {
  readonly name: string;
  readonly version: string;
  readonly done: number;
  readonly total: number;
}

/** The API server refuses to store an object again. */
export class StorageError extends CodedError<"NotMigrated"> {
  override readonly name = "StorageError";
}

/** Options of {@link migrateStorage}. */
interface MigrationOptions {
  readonly served: ServedKinds;
  readonly onProgress: (progress: StorageProgress) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Stores the objects of the controller's own CRDs again if some may be stored in a former version, and removes that
 * version from `status.storedVersions`: otherwise no later CRD could lack it (Kubernetes, "Versions in
 * CustomResourceDefinitions").
 *
 * A repeated call continues after a crash: the API server does not write an object that has the current version.
 *
 * @throws {StorageError}
 * @throws {ApiError} also `Conflict` if the CRD changes meanwhile
 */
export async function migrateStorage(client: Client, options: MigrationOptions): Promise<void> {
  const outdated: [kind: ResourceKind, crd: LiveObject][] = [];
  for (const kind of kindsOf(options.served)) {
    // A CRD with one version has stored no other.
    if (objectsAt(kind.crd(), "spec", "versions").length === 1) continue;
    const crd = await findLive({ client }, referenceOf(CRDS, `${kind.plural}.${kind.group}`), options.signal);
    if (crd === undefined || !isOwnCrd(crd)) continue;
    if (listAt(crd, "status", "storedVersions").some((one) => one !== storageOf(crd)["name"]))
      outdated.push([kind, crd]);
  }
  if (outdated.length > 0) await sleep(SETTLE_MS, undefined, { signal: options.signal });
  for (const [kind, crd] of outdated) await migrate(client, kind, crd, options);
}

/** The version in which the API server stores objects. */
function storageOf(crd: LiveObject): JsonObject {
  return objectsAt(crd, "spec", "versions").find(({ storage }) => storage === true) ?? {};
}

async function migrate(
  client: Client,
  kind: ResourceKind,
  crd: LiveObject,
  { onProgress, signal }: MigrationOptions,
): Promise<void> {
  const { name, resourceVersion } = crd.metadata;
  const storage = storageOf(crd);
  const version = textAt(storage, "name") ?? kind.version;
  const { items } = await client.list({ ...kind, version }, { transform: () => identityOf, signal });
  const progress = (done: number): void => onProgress({ name, version, done, total: items.length });
  // The controller has the right to write each status. The API server stores the whole object.
  const subresource = valueAt(storage, "subresources", "status") === undefined ? undefined : "status";
  let failure: { readonly object: string; readonly error: unknown } | undefined;
  for (const [index, object] of items.entries()) {
    if (index % REPORT_EVERY === 0) progress(index);
    try {
      await client.patch(referenceTo(object), "merge", {}, { subresource, signal });
    } catch (error) {
      if (isApiError(error, "Invalid", "Forbidden")) failure ??= { object: object.metadata.name, error };
      else if (!isApiError(error, "NotFound")) throw error;
    }
  }
  if (failure !== undefined) {
    const message =
      `${kind.kind} ${failure.object} cannot be stored as ${version}: ${messageOf(failure.error)}; correct it, and ` +
      "restart the controller";
    throw new StorageError("NotMigrated", message, { cause: failure.error });
  }
  const body = { metadata: { resourceVersion }, status: { storedVersions: [version] } };
  await client.patch(referenceTo(crd), "merge", body, { subresource: "status", signal });
  progress(items.length);
}

/** The part of a listed object that stays in memory. */
function identityOf({ apiVersion, kind, metadata }: LiveObject): LiveObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, metadata: { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) } };
}
