import {
  type Cache,
  type Informer,
  type InformerHandlers,
  type LiveObject,
  type Outcome,
  type Reconcile,
  type ResourceKind,
  type WorkerSlots,
  workQueue,
} from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import { parseQueueKey, queueKey } from "../objects/references.ts";
import { describeFailure } from "./describe-failure.ts";
import type { ReconcileWatcher } from "./engine-metrics.ts";
import { withPoll } from "./poll-policy.ts";

/** What reconciles the objects of one kind. */
export interface KindController {
  readonly kind: ResourceKind;
  readonly cache: Cache;
  /** Reconciles one object soon, by its key: `name`, or `namespace/name`. */
  enqueue(key: string): void;
  enqueueAll(): void;
  /** What from now on reconciles; what runs already ends as it is. */
  replace(reconcile: Reconcile): void;
  /** Ends the watch, then what runs: it may go on for `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

/** Options of {@link startKindController}. */
export interface KindControllerOptions {
  readonly context: Context;
  readonly kind: ResourceKind;
  readonly reconcile: Reconcile;
  readonly slots: WorkerSlots;
  readonly watcher?: ReconcileWatcher | undefined;
  /** Told of changes besides the queue. */
  readonly handlers?: InformerHandlers | undefined;
  /** Waited for when the kind has been listed and before the first reconcile. A failure is logged, and waited for no longer. */
  readonly prepare?: ((cache: Cache, signal: AbortSignal) => Promise<void>) | undefined;
}

/** Watches one kind, and reconciles its objects whenever one changes, is enqueued, or has been left alone for the poll interval. */
export function startKindController(options: KindControllerOptions): KindController {
  const { context, kind, slots, watcher } = options;
  const source = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  const { informer, release } = context.informers.acquire(kind);
  let { reconcile } = options;

  const queue = workQueue({
    slots,
    source,
    reconcile: async (key, signal) => polled(await reconcile(key, signal), key, informer, context.pollIntervalMs),
    onReconcile: ({ failed, milliseconds }) => watcher?.(source, failed, milliseconds),
    onFailure: ({ key, error, failures, retryInMs }) =>
      context.log.warn(
        { kind: source, key, failures, retryMs: Math.round(retryInMs), ...describeFailure(error) },
        "reconcile failed",
      ),
  });
  const { handlers } = options;
  const enqueueObject = ({ metadata }: LiveObject): void => queue.add(queueKey(metadata.name, metadata.namespace));
  const stopped = new AbortController();
  let unsubscribe = (): void => undefined;
  const begin = async (): Promise<void> => {
    await informer.whenSynced(stopped.signal);
    await options.prepare?.(informer.cache, stopped.signal);
  };
  const listen = (): void => {
    if (stopped.signal.aborted) return;
    unsubscribe = informer.subscribe(listeners);
  };
  const listeners: InformerHandlers = {
    added(object) {
      enqueueObject(object);
      handlers?.added?.(object);
    },
    updated(object, before) {
      enqueueObject(object);
      handlers?.updated?.(object, before);
    },
    deleted(last) {
      enqueueObject(last);
      handlers?.deleted?.(last);
    },
  };
  begin().then(listen, (error: unknown) => {
    if (stopped.signal.aborted) return;
    context.log.warn({ kind: source, ...describeFailure(error) }, "preparation failed");
    listen();
  });
  return {
    kind,
    cache: informer.cache,
    enqueue: (key) => queue.add(key),
    enqueueAll: () => {
      for (const object of informer.cache.list()) enqueueObject(object);
    },
    replace(other) {
      reconcile = other;
    },
    async stop(graceMs) {
      stopped.abort(new Error(`the controller of ${source} was stopped`));
      unsubscribe();
      try {
        await queue.stop(graceMs);
      } finally {
        release();
      }
    },
  };
}

/** Deleted objects are not polled. */
function polled(
  outcome: Outcome | undefined,
  key: string,
  informer: Informer,
  pollIntervalMs: number,
): Outcome | undefined {
  const { name, namespace } = parseQueueKey(key);
  return informer.cache.get(name, namespace) === undefined ? outcome : withPoll(outcome, pollIntervalMs);
}
