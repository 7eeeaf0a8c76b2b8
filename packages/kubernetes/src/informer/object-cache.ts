import { isDeepStrictEqual } from "node:util";
import type { LiveObject, WatchEvent } from "../client/client.ts";
import { CacheIndex } from "./cache-index.ts";
import { inTurns } from "./in-turns.ts";
import type { Cache, Indexers, InformerHandlers } from "./informer.ts";
import { WholeObjects } from "./whole-objects.ts";

/**
 * The cache of one kind, filled by a reflector. It reports each change once: repeated and outdated events change
 * nothing. An object that was deleted and created again between two lists is reported as deleted, then as added.
 */
export class ObjectCache implements Cache {
  readonly #objects = new Map<string, LiveObject>();
  readonly #indexes = new Map<string, CacheIndex>();
  readonly #handlers: InformerHandlers;
  readonly #onError: (error: unknown) => void;
  readonly #whole: Pick<WholeObjects, "added" | "removed">;

  constructor(
    handlers: InformerHandlers,
    onError: (error: unknown) => void,
    whole: Pick<WholeObjects, "added" | "removed"> = new WholeObjects({}),
  ) {
    this.#handlers = handlers;
    this.#onError = onError;
    this.#whole = whole;
  }

  get(name: string, namespace?: string): LiveObject | undefined {
    return this.#objects.get(`${namespace ?? ""}/${name}`);
  }

  list(namespace?: string): readonly LiveObject[] {
    const all = [...this.#objects.values()];
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  byIndex(name: string, key: string): readonly LiveObject[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new TypeError(`there is no index ${JSON.stringify(name)}`);
    const found: LiveObject[] = [];
    for (const objectKey of index.get(key)) {
      const object = this.#objects.get(objectKey);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  /**
   * Replaces the content by a complete list: deletes all objects that are not in it. A long list takes several turns of
   * the event loop, in which the caller must apply no event.
   *
   * @param signal ends the replacement between two turns
   */
  async replace(items: readonly LiveObject[], signal?: AbortSignal): Promise<void> {
    const listed = new Set<string>();
    for (const item of items) listed.add(keyOf(item));
    const gone = [...this.#objects].filter(([key]) => !listed.has(key));
    await inTurns(gone, ([key, last]) => this.#remove(key, last), signal);
    await inTurns(items, (item) => this.#replaceOne(item), signal);
  }

  #replaceOne(item: LiveObject): void {
    const key = keyOf(item);
    // An older version in a list is valid: the server was restored from a backup. One version can have two contents:
    // a server applies the defaults of the current schema when it reads an object.
    if (!isDeepStrictEqual(this.#objects.get(key), item)) this.#put(key, item);
  }

  apply({
    type,
    object,
  }: {
    readonly type: Exclude<WatchEvent["type"], "BOOKMARK">;
    readonly object: LiveObject;
  }): void {
    const key = keyOf(object);
    const cached = this.#objects.get(key);
    if (type !== "DELETED") {
      if (cached === undefined || !isOutdated(object, cached)) this.#put(key, object);
      return;
    }
    // Ignore the deletion of a predecessor: another UID under the same name was created later.
    if (cached !== undefined && cached.metadata.uid === object.metadata.uid) this.#remove(key, object);
  }

  /** Replaces an object by another form of the same version. Does not count as a change. */
  replaceForm(object: LiveObject): void {
    this.#store(keyOf(object), object);
  }

  addIndexers(indexers: Indexers): void {
    for (const [name, keysOf] of Object.entries(indexers)) {
      // Users that share an informer may add the same index.
      if (this.#indexes.has(name)) continue;
      const index = new CacheIndex(keysOf, this.#onError);
      for (const [key, object] of this.#objects) index.put(key, object);
      this.#indexes.set(name, index);
    }
  }

  #put(key: string, object: LiveObject): void {
    const before = this.#objects.get(key);
    const replaced = before !== undefined && before.metadata.uid !== object.metadata.uid;
    if (replaced) this.#remove(key, before);
    this.#store(key, object);
    if (before === undefined || replaced) this.#handlers.added?.(object);
    else this.#handlers.updated?.(object, before);
  }

  #store(key: string, object: LiveObject): void {
    const before = this.#objects.get(key);
    if (before !== undefined) this.#whole.removed(before);
    this.#whole.added(object);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) index.put(key, object);
  }

  #remove(key: string, last: LiveObject): void {
    const cached = this.#objects.get(key);
    if (cached !== undefined) this.#whole.removed(cached);
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) index.remove(key);
    this.#handlers.deleted?.(last);
  }
}

function keyOf({ metadata }: LiveObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/**
 * Whether the cached state of an object is the same or newer. Resource versions are comparable integers (Kubernetes API
 * concepts, "Resource versions", since 1.35; with etcd always).
 */
function isOutdated(object: LiveObject, cached: LiveObject): boolean {
  const { resourceVersion: version } = object.metadata;
  const { resourceVersion: known } = cached.metadata;
  if (version === known) return true;
  if (!/^\d+$/.test(version) || !/^\d+$/.test(known)) return false;
  return version.length === known.length ? version < known : version.length < known.length;
}
