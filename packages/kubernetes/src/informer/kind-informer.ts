import { type Backoff, untilAborted } from "@xfn/lifetime";
import type { Client, LiveObject, ResourceKind, WatchEvent } from "../client/client.ts";
import type { Indexers, Informer, InformerHandlers, InformerOptions, SubscribeOptions } from "./informer.ts";
import { ObjectCache } from "./object-cache.ts";
import { Reflector, type Sink } from "./reflector.ts";
import { WholeObjects } from "./whole-objects.ts";

export interface InformersOptions {
  /** Called for each failed list or watch, and for each handler that throws. Informers retry by themselves. */
  readonly onError?: ((error: unknown, kind: ResourceKind) => void) | undefined;
  readonly backoff?: Backoff | undefined;
}

/** The informer of one kind and selector. It runs from its creation until `stop`. */
export class KindInformer implements Informer, Sink {
  readonly kind: ResourceKind;
  readonly cache: ObjectCache;
  readonly #onError: (error: unknown) => void;
  readonly #subscribers = new Set<InformerHandlers>();
  readonly #stopping = new AbortController();
  readonly #whole: WholeObjects;
  readonly #project: (object: LiveObject) => LiveObject;
  readonly #firstList = Promise.withResolvers<void>();
  readonly #ended: Promise<void>;
  #synced = false;
  #problem: unknown;
  #failingSince: number | undefined;

  constructor(client: Client, kind: ResourceKind, options: InformerOptions, { onError, backoff }: InformersOptions) {
    this.kind = kind;
    this.#onError = (error) => onError?.(error, kind);
    this.#whole = new WholeObjects(options);
    this.#project = options.project ?? ((object) => object);
    this.cache = new ObjectCache(
      {
        added: (object) => this.#notifyAll((subscriber) => subscriber.added?.(object)),
        updated: (object, before) => this.#notifyAll((subscriber) => subscriber.updated?.(object, before)),
        deleted: (last) => this.#notifyAll((subscriber) => subscriber.deleted?.(last)),
      },
      this.#onError,
      this.#whole,
    );
    const { signal } = this.#stopping;
    const failed = (error: unknown): void => {
      this.#problem = error;
      this.#failingSince ??= performance.now();
      this.#onError(error);
    };
    this.#ended = new Reflector(client, kind, this, { ...options, signal, onError: failed, backoff }).run();
  }

  get synced(): boolean {
    return this.#synced;
  }

  get problem(): unknown {
    return this.#problem;
  }

  get failingSince(): number | undefined {
    return this.#failingSince;
  }

  async whenSynced(signal?: AbortSignal): Promise<void> {
    if (!this.#synced) await untilAborted(this.#firstList.promise, signal);
  }

  subscribe(handlers: InformerHandlers, { changesOnly = false }: SubscribeOptions = {}): () => void {
    const known = changesOnly ? [] : this.cache.list();
    for (const object of known) this.#notify(handlers, (subscriber) => subscriber.added?.(object));
    this.#subscribers.add(handlers);
    return () => this.#subscribers.delete(handlers);
  }

  addIndexers(indexers: Indexers): void {
    this.cache.addIndexers(indexers);
  }

  async replace(items: readonly LiveObject[]): Promise<void> {
    const { signal } = this.#stopping;
    await this.cache.replace(items, signal);
    if (signal.aborted) return;
    this.#succeeded();
    this.#synced = true;
    this.#firstList.resolve();
  }

  apply({ type, object }: WatchEvent): void {
    this.#succeeded();
    if (type === "BOOKMARK") return;
    // Nothing keeps a deleted object.
    if (type === "DELETED") return this.cache.apply({ type, object });
    const { name, namespace } = object.metadata;
    const before = this.cache.get(name, namespace);
    this.cache.apply({ type, object: this.#whole.ofChange(this.#project(object), before) });
  }

  beginList(): ((object: LiveObject) => LiveObject) | undefined {
    if (this.#whole.isUnbounded) return this.#project;
    this.#whole.beginList();
    return (object) => this.#whole.ofList(this.#project(object));
  }

  isWhole(object: LiveObject): boolean {
    return this.#whole.isWhole(object);
  }

  get refused(): number {
    return this.#whole.refused;
  }

  complete(object: LiveObject): boolean {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const stub = this.cache.get(name, namespace);
    if (stub === undefined || this.isWhole(stub)) return true;
    if (stub.metadata.uid === uid && stub.metadata.resourceVersion === resourceVersion)
      this.cache.replaceForm(this.#whole.ofChange(object, stub));
    const form = this.cache.get(name, namespace);
    return form === undefined || !this.#whole.isRefused(form);
  }

  stop(): Promise<void> {
    this.#stopping.abort();
    this.#whole.stop();
    return this.#ended;
  }

  #succeeded(): void {
    this.#problem = undefined;
    this.#failingSince = undefined;
  }

  #notifyAll(event: (subscriber: InformerHandlers) => void): void {
    // A handler may subscribe others, which have got the cache's objects then, or unsubscribe others, which want no
    // more events.
    for (const subscriber of Array.from(this.#subscribers)) {
      if (this.#subscribers.has(subscriber)) this.#notify(subscriber, event);
    }
  }

  /** A handler that throws affects neither the other handlers nor the cache. */
  #notify(subscriber: InformerHandlers, event: (subscriber: InformerHandlers) => void): void {
    try {
      event(subscriber);
    } catch (error) {
      this.#onError(error);
    }
  }
}
