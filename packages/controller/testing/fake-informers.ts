import type { Informer, InformerHandlers, Informers, LiveObject, ResourceKind } from "@xfn/kubernetes";

/** Informers for which a test plays the API server. */
export interface FakeInformers extends Informers {
  /** Adds or replaces an object. */
  put(kind: ResourceKind, object: LiveObject): void;
  /** Deletes an object. */
  remove(kind: ResourceKind, name: string, namespace?: string): void;
  /** Delays the first list of a kind until the returned function is called. */
  delay(kind: ResourceKind): () => void;
  /** Makes lists of a kind fail until the problem is undefined. @param forMs how long they have failed already */
  fail(kind: ResourceKind, problem: unknown, forMs?: number): void;
  /** The watched kinds as `plural` or `plural?selector`, sorted. */
  readonly watched: readonly string[];
  /** The number of watches that were started. */
  readonly started: number;
}

interface Failure {
  readonly problem: unknown;
  readonly since: number;
}

interface Shared {
  readonly informer: Informer;
  readonly objects: Map<string, LiveObject>;
  readonly handlers: Set<InformerHandlers>;
  users: number;
}

export function fakeInformers(): FakeInformers {
  const shared = new Map<string, Shared>();
  const stored = new Map<string, Map<string, LiveObject>>();
  const delayed = new Map<string, PromiseWithResolvers<void>>();
  const problems = new Map<string, Failure>();
  let started = 0;
  const objectsOf = ({ plural }: ResourceKind): Map<string, LiveObject> => {
    const objects = stored.get(plural) ?? new Map<string, LiveObject>();
    stored.set(plural, objects);
    return objects;
  };
  const informersOf = ({ plural }: ResourceKind): Shared[] =>
    [...shared].filter(([key]) => key.split("?")[0] === plural).map(([, one]) => one);
  return {
    get watched() {
      return [...shared.keys()].toSorted();
    },
    get started() {
      return started;
    },
    acquire(kind, { labelSelector } = {}) {
      const key = labelSelector === undefined ? kind.plural : `${kind.plural}?${labelSelector}`;
      const one = shared.get(key) ?? makeInformer(kind, objectsOf(kind), delayed, problems);
      if (one.users === 0) started++;
      one.users++;
      shared.set(key, one);
      let released = false;
      return {
        informer: one.informer,
        release() {
          if (released) return;
          released = true;
          one.users--;
          if (one.users === 0) shared.delete(key);
        },
      };
    },
    delay({ plural }) {
      const list = Promise.withResolvers<void>();
      delayed.set(plural, list);
      return () => {
        delayed.delete(plural);
        list.resolve();
      };
    },
    fail({ plural }, problem, forMs = 0) {
      if (problem === undefined) problems.delete(plural);
      else problems.set(plural, { problem, since: performance.now() - forMs });
    },
    peek: (kind, { labelSelector } = {}) =>
      shared.get(labelSelector === undefined ? kind.plural : `${kind.plural}?${labelSelector}`)?.informer.cache,
    put(kind, object) {
      const objects = objectsOf(kind);
      const key = keyOf(object.metadata.name, object.metadata.namespace);
      const before = objects.get(key);
      objects.set(key, object);
      for (const handler of informersOf(kind).flatMap(({ handlers }) => [...handlers])) {
        if (before === undefined) handler.added?.(object);
        else handler.updated?.(object, before);
      }
    },
    remove(kind, name, namespace) {
      const objects = objectsOf(kind);
      const last = objects.get(keyOf(name, namespace));
      if (last === undefined || !objects.delete(keyOf(name, namespace))) return;
      for (const handler of informersOf(kind).flatMap(({ handlers }) => [...handlers])) handler.deleted?.(last);
    },
    stop: () => Promise.resolve(),
  };
}

function makeInformer(
  kind: ResourceKind,
  objects: Map<string, LiveObject>,
  delayed: ReadonlyMap<string, PromiseWithResolvers<void>>,
  problems: ReadonlyMap<string, Failure>,
): Shared {
  const handlers = new Set<InformerHandlers>();
  const indexers = new Map<string, (object: LiveObject) => readonly string[]>();
  const informer: Informer = {
    kind,
    get synced() {
      return !delayed.has(kind.plural);
    },
    get problem() {
      return problems.get(kind.plural)?.problem;
    },
    get failingSince() {
      return problems.get(kind.plural)?.since;
    },
    cache: {
      get: (name, namespace) => objects.get(keyOf(name, namespace)),
      list: () => [...objects.values()],
      byIndex: (index, key) => [...objects.values()].filter((object) => indexers.get(index)?.(object).includes(key)),
    },
    whenSynced: () => delayed.get(kind.plural)?.promise ?? Promise.resolve(),
    subscribe(given) {
      handlers.add(given);
      for (const object of objects.values()) given.added?.(object);
      return () => handlers.delete(given);
    },
    isWhole: () => true,
    refused: 0,
    complete: () => true,
    addIndexers(added) {
      for (const [name, index] of Object.entries(added)) indexers.set(name, index);
    },
  };
  return { informer, objects, handlers, users: 0 };
}

function keyOf(name: string, namespace: string | undefined): string {
  return `${namespace ?? ""}/${name}`;
}
