import type { LiveObject, ResourceKind } from "../client/client.ts";

/** What an informer knows of one kind: a copy of what the server holds, a moment old. Objects in it are never changed in place. */
export interface Cache {
  get(name: string, namespace?: string): LiveObject | undefined;
  list(namespace?: string): readonly LiveObject[];
  /** What an index has under a key. @throws {TypeError} for an index that was not declared */
  byIndex(index: string, key: string): readonly LiveObject[];
}

/** Keys of an object in an index: `{ controller: (object) => [uid of its controller] }`. */
export type Indexers = Readonly<Record<string, (object: LiveObject) => readonly string[]>>;

export interface InformerHandlers {
  added?(object: LiveObject): void;
  updated?(object: LiveObject, before: LiveObject): void;
  deleted?(last: LiveObject): void;
}

/** Keeps a cache of one kind up to date: lists, watches, and starts again after whatever ends a watch. Shared by all who want the kind. */
export interface Informer {
  readonly kind: ResourceKind;
  readonly cache: Cache;
  /** Whether the first list is in the cache. */
  readonly synced: boolean;
  /** Resolves when the first list is in the cache. @throws the signal's reason */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Handlers are told of all that is in the cache already. The function returned takes them off again. */
  subscribe(handlers: InformerHandlers): () => void;
  addIndexers(indexers: Indexers): void;
}

/** Informers by kind: one watch for each, however many want it; the last to let go ends it. */
export interface Informers {
  /** With a label selector: an informer of its own, whose cache has those objects only. */
  acquire(
    kind: ResourceKind,
    options?: { readonly labelSelector?: string | undefined },
  ): { informer: Informer; release(): void };
  /** The cache of a kind that somebody watches (without a selector) and that has been listed; else undefined. Begins nothing. */
  peek(kind: ResourceKind): Cache | undefined;
  /** Ends all of them. */
  stop(): Promise<void>;
}
