import { type Informer, type Informers, isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import type { OperationWatch, OperationWatches, Selection, WatchedChange } from "../objects/context.ts";
import { queueKey } from "../objects/references.ts";
import { refusalOf } from "./lost-watch.ts";

interface Watch extends OperationWatch {
  readonly uid: string;
  /** Identifies the selection. */
  readonly key: string;
  readonly kind: ResourceKind;
  end(): void;
}

/** Each watched object costs its identity: its content is read when a function requires it. */
const keepNothing = (): boolean => false;

/** Watches on the objects that WatchOperations select. Changes of an object that waits are merged into its last one. */
export class WatchedObjects implements OperationWatches {
  readonly #informers: Informers;
  readonly #enqueue: (name: string) => void;
  /** Keyed by the name of the WatchOperation. */
  readonly #watches: Map<string, Watch> = new Map();

  /** @param enqueue reconciles a WatchOperation, by its name */
  constructor(informers: Informers, enqueue: (name: string) => void) {
    this.#informers = informers;
    this.#enqueue = enqueue;
  }

  watch({ metadata: { name, uid } }: LiveObject, selection: Selection): OperationWatch {
    const key = JSON.stringify([selection.kind, selection.namespace, selection.labelSelector]);
    const known = this.#watches.get(name);
    if (known?.uid === uid && known.key === key) return known;
    known?.end();
    const watch = this.#start(name, uid, key, selection);
    this.#watches.set(name, watch);
    return watch;
  }

  forget(name: string): void {
    this.#watches.get(name)?.end();
    this.#watches.delete(name);
  }

  /** Reports that a kind cannot be listed or watched. */
  watchFailed({ group, kind }: ResourceKind): void {
    for (const [name, watch] of this.#watches)
      if (watch.kind.group === group && watch.kind.kind === kind) this.#enqueue(name);
  }

  stop(): void {
    for (const name of this.#watches.keys()) this.forget(name);
  }

  #start(name: string, uid: string, key: string, { kind, namespace, labelSelector }: Selection): Watch {
    const { informer, release } = this.#informers.acquire(kind, { namespace, labelSelector, keepWhole: keepNothing });
    const changes = new Map<string, WatchedChange>();
    const changed = (object: LiveObject, isDeleted: boolean): void => {
      changes.set(queueKey(object.metadata.name, object.metadata.namespace), { object, isDeleted });
      this.#enqueue(name);
    };
    const unsubscribe = informer.subscribe({
      added: (object) => changed(object, false),
      updated: (object) => changed(object, false),
      deleted: (last) => changed(last, true),
    });
    const ended = new AbortController();
    informer.whenSynced(ended.signal).then(
      () => this.#enqueue(name),
      () => undefined,
    );
    return {
      uid,
      key,
      kind,
      get problem() {
        return problemOf(informer);
      },
      get count() {
        return informer.synced ? informer.cache.list().length : undefined;
      },
      changes: () => [...changes.values()],
      handled: (change) => {
        const { name: one, namespace: where } = change.object.metadata;
        const at = queueKey(one, where);
        if (changes.get(at) === change) changes.delete(at);
      },
      end: () => {
        ended.abort(new Error(`the WatchOperation ${name} no longer watches`));
        unsubscribe();
        release();
      },
    };
  }
}

/** A missing right does not pass by itself; other problems can. */
function problemOf(informer: Informer): string | undefined {
  const { problem } = informer;
  return isApiError(problem, "Forbidden") ? problem.message : refusalOf(informer);
}
