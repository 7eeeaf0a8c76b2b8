import {
  type Cache,
  type FairSlots,
  type Informer,
  type InformerHandlers,
  type LiveObject,
  type Outcome,
  type Reconcile,
  type ResourceKind,
  type Standing,
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
  readonly slots: FairSlots;
  readonly watcher?: ReconcileWatcher | undefined;
  /** Told of changes besides the queue. */
  readonly handlers?: InformerHandlers | undefined;
  /** Waited for when the kind has been listed and before the first reconcile. A failure is logged, and waited for no longer. */
  readonly prepare?: ((cache: Cache, signal: AbortSignal) => Promise<void>) | undefined;
}

// A reconcile that takes longer waits for something: a function, an API server that is down. Those of three requests take some
// tens of milliseconds on a busy machine.
const SLOW_MS = 3_000;

/** Watches one kind, and reconciles its objects whenever one changes, is enqueued, or has been left alone for the poll interval. */
export function startKindController(options: KindControllerOptions): KindController {
  const { context, kind, slots, watcher } = options;
  const source = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  const standings = new Map<string, Exclude<Standing, "good">>();
  const { informer, release } = context.informers.acquire(kind);
  let { reconcile } = options;

  const run: Reconcile = async (key, signal) => {
    const started = performance.now();
    let failed = true;
    try {
      const outcome = await reconcile(key, signal);
      failed = false;
      return polled(outcome, key, informer, context.pollIntervalMs);
    } finally {
      const ms = performance.now() - started;
      watcher?.(source, failed, ms);
      if (ms > SLOW_MS) standings.set(key, "slow");
      else if (failed) standings.set(key, "failing");
      else standings.delete(key);
    }
  };
  const queue = workQueue({
    reconcile: run,
    gate: (key, signal) => slots.take(source, standings.get(key) ?? "good", signal),
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
      standings.delete(queueKey(last.metadata.name, last.metadata.namespace));
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
