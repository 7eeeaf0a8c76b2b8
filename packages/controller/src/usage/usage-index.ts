import type { Informers, LiveObject, ObjectReference } from "@xfn/kubernetes";
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

const INDEX = "used";
