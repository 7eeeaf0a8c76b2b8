import type { LiveObject, ResourceKind } from "../client/client.ts";

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

/**
 * Keeps a cache of one kind up to date: lists, watches, and resumes after whatever ends a watch. Its users share it.
 */
export interface Informer {
  readonly kind: ResourceKind;
  readonly cache: Cache;
  /** Whether the cache contains the first list. */
  readonly synced: boolean;
  /** Resolves when the cache contains the first list. @throws the signal's reason */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Calls `added` for each object in the cache, then reports changes. The returned function unsubscribes. */
  subscribe(handlers: InformerHandlers): () => void;
  addIndexers(indexers: Indexers): void;
}

/**
 * Informers by kind. Users of the same kind and selector share one watch, which ends when the last of them releases it.
 */
export interface Informers {
  /** With a label selector, returns a separate informer whose cache contains only the selected objects. */
  acquire(
    kind: ResourceKind,
    options?: { readonly labelSelector?: string | undefined },
  ): { informer: Informer; release(): void };
  /** Returns the cache of a kind that is watched without a selector and synced. Never starts a watch. */
  peek(kind: ResourceKind): Cache | undefined;
  /** Ends all watches. */
  stop(): Promise<void>;
}
