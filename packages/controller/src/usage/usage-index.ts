import type { Client, Informers, LiveObject, ObjectReference } from "@xfn/kubernetes";
import { USAGE_KINDS } from "../kinds/usages.ts";
import { objectKey } from "../objects/references.ts";
import { usedKeys } from "./used-object.ts";

/** Usages of all kinds by the object that they protect, in any version of its kind. */
export interface UsageIndex {
  /** The usages that protect an object; undefined until all usages are listed. */
  of(used: ObjectReference): readonly LiveObject[] | undefined;
  /** Ends the watches. */
  stop(): void;
}

/** Watches all usages. */
export function indexUsages(informers: Informers): UsageIndex {
  const watched = USAGE_KINDS.map((kind) => informers.acquire(kind));
  for (const { informer } of watched) informer.addIndexers({ [INDEX]: usedKeys });
  return {
    of: (used) =>
      watched.every(({ informer }) => informer.synced)
        ? watched.flatMap(({ informer }) => informer.cache.byIndex(INDEX, objectKey(used)))
        : undefined,
    stop: () => {
      for (const { release } of watched) release();
    },
  };
}

/**
 * The usages that protect an object, read live: caches may lag behind.
 *
 * @throws {ApiError}
 */
export async function listUsagesOf(
  client: Client,
  used: ObjectReference,
  signal: AbortSignal,
): Promise<readonly LiveObject[]> {
  const key = objectKey(used);
  const kinds = USAGE_KINDS.filter(({ namespaced }) => namespaced === (used.namespace !== undefined));
  const lists = await Promise.all(kinds.map((kind) => client.list(kind, { signal })));
  return lists.flatMap(({ items }) => items.filter((usage) => usedKeys(usage).includes(key)));
}

const INDEX = "used";
