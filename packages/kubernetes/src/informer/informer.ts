import type { LiveObject, ResourceKind } from "../client/client.ts";
import type { CacheBudget } from "./cache-budget.ts";

/** A copy of one kind's objects on the server, slightly delayed. Objects in it are immutable. */
export interface Cache {
  get(name: string, namespace?: string): LiveObject | undefined;
  list(namespace?: string): readonly LiveObject[];
  /** Returns the objects that an index files under a key. @throws {TypeError} the index does not exist */
  byIndex(index: string, key: string): readonly LiveObject[];
}

/** Functions that return an object's keys in an index: `{ controller: (object) => [uid of its controller] }`. */
export type Indexers = Readonly<Record<string, (object: LiveObject) => readonly string[]>>;

export interface InformerHandlers {
  added?(object: LiveObject): void;
  updated?(object: LiveObject, before: LiveObject): void;
  deleted?(last: LiveObject): void;
}

export interface SubscribeOptions {
  /** Do not call `added` for the objects that are in the cache already. The subscriber reads a large cache in turns. */
  readonly changesOnly?: boolean | undefined;
}

/** Keeps a cache of one kind up to date: lists, watches, and resumes each watch that ends. Its users share it. */
export interface Informer {
  readonly kind: ResourceKind;
  readonly cache: Cache;
  /** Whether the cache contains the first list. */
  readonly synced: boolean;
  /** Why the last list or watch failed; undefined if it succeeded. */
  readonly problem?: unknown;
  /** The `performance.now()` of the first failure since the last success; undefined after a success. */
  readonly failingSince?: number | undefined;
  /** Resolves when the cache contains the first list. @throws the signal's reason */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Calls `added` for each object in the cache, then reports changes. The returned function unsubscribes. */
  subscribe(handlers: InformerHandlers, options?: SubscribeOptions): () => void;
  addIndexers(indexers: Indexers): void;
  /** Whether an object of the cache is whole, not a stub. */
  isWhole(object: LiveObject): boolean;
  /** The objects in the cache that are stubs because of `maxBytes` or `budget`. */
  readonly refused: number;
  /**
   * Replaces a stub by the same version of the object, which the caller has read, if the cache may keep it whole.
   *
   * @returns whether there was space for the object
   */
  complete(object: LiveObject): boolean;
}

/** The objects of an informer. Each combination has an informer of its own. Default: all whole objects of the kind. */
export interface InformerOptions {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Caches only the objects of this namespace. */
  readonly namespace?: string | undefined;
  /** Caches only `apiVersion`, `kind` and `metadata` of each object. */
  readonly metadataOnly?: boolean | undefined;
  /**
   * Returns the part of an object that the cache keeps, as a copy. It must have the name, namespace, UID and resource
   * version. Users with the same function share an informer. Default: everything that the server sends.
   */
  readonly project?: ((object: LiveObject) => LiveObject) | undefined;
  /**
   * Selects objects to cache whole. The cache has stubs of the others: apiVersion, kind, name, namespace, UID, resource
   * version and controller. Users with the same function share an informer. Default: all.
   */
  readonly keepWhole?: ((object: LiveObject) => boolean) | undefined;
  /** The bytes of all whole objects, estimated. The cache keeps stubs of those that do not fit. Default: unbounded. */
  readonly maxBytes?: number | undefined;
  /** The same bound for several informers together. */
  readonly budget?: CacheBudget | undefined;
}

/**
 * Informers by kind. Users of the same kind and selector share one watch, which ends when the last of them releases it.
 */
export interface Informers {
  acquire(kind: ResourceKind, options?: InformerOptions): { informer: Informer; release(): void };
  /** Returns the cache of a kind that is watched with these options and synced. Never starts a watch. */
  peek(kind: ResourceKind, options?: InformerOptions): Cache | undefined;
  /** Ends all watches. */
  stop(): Promise<void>;
}
