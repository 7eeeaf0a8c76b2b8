import type { Backoff } from "../client/backoff.ts";
import type { Client, LiveObject, ResourceKind } from "../client/client.ts";
import type { Informer, InformerHandlers, Informers } from "./informer.ts";
import { type ObjectCache, objectCache } from "./object-cache.ts";
import { reflect } from "./reflector.ts";

export interface InformersOptions {
  /** Told of each failure to list or watch, and of handlers that threw. Informers go on by themselves. */
  readonly onError?: ((error: unknown, kind: ResourceKind) => void) | undefined;
  /** What of an object is kept, to save memory: {@link withoutManagedFields}, for one. It may change the object that it is given. */
  readonly keep?: ((object: LiveObject) => LiveObject) | undefined;
  readonly backoff?: Backoff | undefined;
}

interface Shared {
  readonly informer: Informer;
  readonly cache: ObjectCache;
  readonly ended: Promise<void>;
  users: number;
  stop(): void;
}

/** Takes off what says whose field is whose, often more than half of an object. */
export function withoutManagedFields(object: LiveObject): LiveObject {
  delete object.metadata["managedFields"];
  return object;
}

/** Informers on a client. Each begins when it is first asked for. */
export function startInformers(client: Client, options: InformersOptions = {}): Informers {
  const shared = new Map<string, Shared>();
  const keyOf = ({ group, version, plural }: ResourceKind, labelSelector: string | undefined): string =>
    `${group}/${version}/${plural}?${labelSelector ?? ""}`;
  let stopped = false;
  return {
    acquire(kind, { labelSelector } = {}) {
      if (stopped) throw new TypeError("informers were stopped");
      const key = keyOf(kind, labelSelector);
      let one = shared.get(key);
      if (one === undefined) {
        one = startInformer(client, kind, labelSelector, options);
        shared.set(key, one);
      }
      const mine = one;
      mine.users++;
      let released = false;
      return {
        informer: mine.informer,
        release() {
          if (released) return;
          released = true;
          if (--mine.users > 0) return;
          if (shared.get(key) === mine) shared.delete(key);
          mine.stop();
        },
      };
    },
    peek(kind) {
      const one = shared.get(keyOf(kind, undefined));
      return one?.informer.synced === true ? one.cache : undefined;
    },
    async stop() {
      stopped = true;
      const all = [...shared.values()];
      shared.clear();
      for (const one of all) one.stop();
      await Promise.all(all.map(({ ended }) => ended));
    },
  };
}

function startInformer(
  client: Client,
  kind: ResourceKind,
  labelSelector: string | undefined,
  { onError = () => undefined, keep, backoff }: InformersOptions,
): Shared {
  const subscribers = new Set<InformerHandlers>();
  // A handler's mistake is its own: the others are told, and the cache stays true.
  const tell = (subscriber: InformerHandlers, event: (to: InformerHandlers) => void): void => {
    try {
      event(subscriber);
    } catch (error) {
      onError(error, kind);
    }
  };
  const tellAll = (event: (to: InformerHandlers) => void): void => {
    // Those that come on the way have been told by then; those that are taken off on the way want nothing more.
    for (const subscriber of Array.from(subscribers)) if (subscribers.has(subscriber)) tell(subscriber, event);
  };
  const cache = objectCache(
    {
      added: (object) => tellAll((to) => to.added?.(object)),
      updated: (object, before) => tellAll((to) => to.updated?.(object, before)),
      deleted: (last) => tellAll((to) => to.deleted?.(last)),
    },
    (error) => onError(error, kind),
  );
  const stopping = new AbortController();
  const { promise: firstList, resolve: listed } = Promise.withResolvers<void>();
  let synced = false;
  const ended = reflect(
    client,
    kind,
    {
      replace(items) {
        cache.replace(keep === undefined ? items : items.map(keep));
        synced = true;
        listed();
      },
      apply(event) {
        const { type, object } = event;
        if (type !== "BOOKMARK") cache.apply({ type, object: keep === undefined ? object : keep(object) });
      },
    },
    { labelSelector, signal: stopping.signal, onError: (error) => onError(error, kind), backoff },
  );
  return {
    users: 0,
    cache,
    ended,
    stop: () => stopping.abort(),
    informer: {
      kind,
      cache,
      get synced() {
        return synced;
      },
      async whenSynced(signal) {
        if (synced) return;
        const { promise, reject } = Promise.withResolvers<never>();
        const abort = (): void => reject(signal?.reason as Error);
        if (signal?.aborted === true) abort();
        signal?.addEventListener("abort", abort, { once: true });
        try {
          await Promise.race([firstList, promise]);
        } finally {
          signal?.removeEventListener("abort", abort);
        }
      },
      subscribe(handlers) {
        for (const object of cache.list()) tell(handlers, (to) => to.added?.(object));
        subscribers.add(handlers);
        return () => subscribers.delete(handlers);
      },
      addIndexers: (indexers) => cache.addIndexers(indexers),
    },
  };
}
