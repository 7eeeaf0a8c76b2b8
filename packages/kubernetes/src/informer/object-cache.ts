import type { LiveObject, WatchEvent } from "../client/client.ts";
import type { Cache, Indexers, InformerHandlers } from "./informer.ts";

/** The cache of one kind, which a reflector fills. */
export interface ObjectCache extends Cache {
  readonly size: number;
  /** All objects at one moment: what is not among them is deleted. */
  replace(items: readonly LiveObject[]): void;
  apply(change: { readonly type: Exclude<WatchEvent["type"], "BOOKMARK">; readonly object: LiveObject }): void;
  addIndexers(indexers: Indexers): void;
}

/**
 * Makes a cache that tells each change once: what it has already seen, or something later of, changes nothing; an object
 * that was deleted and made again while nobody looked is told as both.
 */
export function objectCache(tell: InformerHandlers, onError: (error: unknown) => void): ObjectCache {
  const objects = new Map<string, LiveObject>();
  const indexes = new Map<string, Index>();

  const put = (key: string, object: LiveObject): void => {
    const before = objects.get(key);
    if (before !== undefined) {
      if (before.metadata.uid !== object.metadata.uid) remove(key, before);
      else {
        objects.set(key, object);
        for (const index of indexes.values()) index.move(key, object);
        tell.updated?.(object, before);
        return;
      }
    }
    objects.set(key, object);
    for (const index of indexes.values()) index.move(key, object);
    tell.added?.(object);
  };
  const remove = (key: string, last: LiveObject): void => {
    objects.delete(key);
    for (const index of indexes.values()) index.drop(key);
    tell.deleted?.(last);
  };
  return {
    get size() {
      return objects.size;
    },
    get: (name, namespace) => objects.get(`${namespace ?? ""}/${name}`),
    list(namespace) {
      const all = [...objects.values()];
      return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
    },
    byIndex(name, key) {
      const index = indexes.get(name);
      if (index === undefined) throw new TypeError(`there is no index ${JSON.stringify(name)}`);
      const found: LiveObject[] = [];
      for (const objectKey of index.under(key)) {
        const object = objects.get(objectKey);
        if (object !== undefined) found.push(object);
      }
      return found;
    },
    replace(items) {
      const kept = new Set<string>();
      for (const item of items) kept.add(keyOf(item));
      for (const [key, last] of objects) if (!kept.has(key)) remove(key, last);
      for (const item of items) {
        const key = keyOf(item);
        // What a list says is so, though it be older: of a server that was restored from a backup.
        if (objects.get(key)?.metadata.resourceVersion !== item.metadata.resourceVersion) put(key, item);
      }
    },
    apply({ type, object }) {
      const key = keyOf(object);
      const before = objects.get(key);
      if (type !== "DELETED") {
        if (before === undefined || !isSeen(object, before)) put(key, object);
        return;
      }
      // One that is in the cache under its name, but is another, was made later.
      if (before !== undefined && before.metadata.uid === object.metadata.uid) remove(key, object);
    },
    addIndexers(indexers) {
      for (const [name, keysOf] of Object.entries(indexers)) {
        // Who shares an informer may want the same index.
        if (indexes.has(name)) continue;
        const index = newIndex(keysOf, onError);
        for (const [key, object] of objects) index.move(key, object);
        indexes.set(name, index);
      }
    },
  };
}

function keyOf({ metadata }: LiveObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Whether the cache has this state of the object, or a later one. Resource versions count up (Kubernetes 1.35 says so; etcd always did). */
function isSeen(object: LiveObject, known: LiveObject): boolean {
  const { resourceVersion: version } = object.metadata;
  const { resourceVersion: had } = known.metadata;
  if (version === had) return true;
  if (!/^\d+$/.test(version) || !/^\d+$/.test(had)) return false;
  return version.length === had.length ? version < had : version.length < had.length;
}

interface Index {
  under(key: string): Iterable<string>;
  move(objectKey: string, object: LiveObject): void;
  drop(objectKey: string): void;
}

function newIndex(keysOf: (object: LiveObject) => readonly string[], onError: (error: unknown) => void): Index {
  const sets = new Map<string, Set<string>>();
  const of = new Map<string, readonly string[]>();
  const drop = (objectKey: string): void => {
    for (const key of of.get(objectKey) ?? []) {
      const set = sets.get(key);
      set?.delete(objectKey);
      if (set?.size === 0) sets.delete(key);
    }
    of.delete(objectKey);
  };
  return {
    under: (key) => sets.get(key) ?? [],
    drop,
    move(objectKey, object) {
      drop(objectKey);
      let keys: readonly string[] = [];
      try {
        keys = keysOf(object);
      } catch (error) {
        // One object that an indexer does not understand is not to keep the cache from all others.
        onError(error);
      }
      if (keys.length === 0) return;
      of.set(objectKey, keys);
      for (const key of keys) {
        let set = sets.get(key);
        if (set === undefined) {
          set = new Set();
          sets.set(key, set);
        }
        set.add(objectKey);
      }
    },
  };
}
