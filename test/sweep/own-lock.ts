import type { Cache, Client, Informers, ObjectReference } from "@xfn/kubernetes";
import { LOCKS } from "./kinds.ts";

/** The Lock of a run. The real one has one name for the whole server, which several runs share. */
export interface OwnLock {
  readonly client: Client;
  readonly informers: Informers;
}

/** Lets a controller read and write a Lock of another name as the only one. */
export function withOwnLock(client: Client, informers: Informers, name: string): OwnLock {
  const own = (reference: ObjectReference): ObjectReference =>
    reference.kind === LOCKS.kind ? { ...reference, name } : reference;
  const cacheOf = (cache: Cache): Cache => ({ ...cache, get: () => cache.get(name) });
  return {
    client: {
      ...client,
      get: (reference, options) => client.get(own(reference), options),
      patch: (reference, ...more) => client.patch(own(reference), ...more),
      create: (object, options) =>
        client.create(
          object.kind === LOCKS.kind ? { ...object, metadata: { ...object.metadata, name } } : object,
          options,
        ),
    },
    informers: {
      ...informers,
      peek: (kind, options) => {
        const cache = informers.peek(kind, options);
        return cache !== undefined && kind.kind === LOCKS.kind ? cacheOf(cache) : cache;
      },
    },
  };
}
