import {
  type Cache,
  type Client,
  type EventRecorder,
  type Indexers,
  type Informer,
  type InformerHandlers,
  type InformerOptions,
  type Informers,
  inTurns,
  isApiError,
  type LiveObject,
  type Outcome,
  qualifiedKind,
  type ResourceKind,
  type WorkerSlots,
  type WorkQueue,
  workQueue,
} from "@xfn/kubernetes";
import { type Tracing, traced } from "@xfn/program/tracing";
import type { FunctionDirectory } from "../objects/context.ts";
import type { Logger } from "../objects/logger.ts";
import type { ControllerReference } from "../objects/owner.ts";
import { parseQueueKey, queueKey } from "../objects/references.ts";
import { type PolledReconcile, pollIntervalOf } from "../objects/requeue-after.ts";
import { describeFailure } from "./describe-failure.ts";
import { withOwnPoll, withPoll } from "./poll-policy.ts";

// A load balancer answers 502 while an API server is replaced. A broken conversion webhook fails for longer than this.
const LASTING_MS = 30_000;

export interface EndedReconcile {
  readonly kind: string;
  /** See {@link KindControllerOptions.controller}. */
  readonly controller: string | undefined;
  readonly failed: boolean;
  readonly milliseconds: number;
  /** Time in the queue. */
  readonly waitedMs: number;
}

/** Called after each reconcile, for metrics. */
export type ReconcileObserver = (ended: EndedReconcile) => void;

/** The parts of the process that controllers use. */
export interface EngineContext {
  readonly client: Client;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly log: Logger;
  /** Absent: functions are disabled. */
  readonly functions?: Pick<FunctionDirectory, "closeUnused"> | undefined;
  /** Exports spans of reconciles. Absent: no traces. */
  readonly tracing?: Tracing | undefined;
  /** The controller's own namespace. */
  readonly namespace: string;
  /** The time between two reconciles of an unchanged object, in milliseconds (`--poll-interval`). */
  readonly pollIntervalMs: number;
}

export interface KindControllerOptions {
  readonly context: EngineContext;
  readonly kind: ResourceKind;
  readonly reconcile: PolledReconcile;
  readonly slots: WorkerSlots;
  readonly observer?: ReconcileObserver | undefined;
  /** The name of the controller of instances in Crossplane's metrics. */
  readonly controller?: string | undefined;
  readonly indexers?: Indexers | undefined;
  /** Selects the objects and the fields that its cache keeps. Default: all whole objects. */
  readonly selection?: InformerOptions | undefined;
  /** Whether a listed or changed object must be reconciled. The others cost no reconcile. Default: all. */
  readonly isDue?: ((object: LiveObject) => boolean) | undefined;
  readonly onStopped?: ((kind: ResourceKind) => void) | undefined;
  /** Has the controllers that run. */
  readonly running?: Set<KindController> | undefined;
  /** Called for changes, after the object is queued. */
  readonly handlers?: InformerHandlers | undefined;
  /** Runs after the first list and before the first reconcile. A failure is logged, and reconciles begin. */
  readonly prepare?: ((cache: Cache, signal: AbortSignal) => Promise<void>) | undefined;
}

/** Watches one kind. Reconciles an object when it changes, when its key is enqueued, and when its poll is due. */
export class KindController {
  readonly kind: ResourceKind;
  readonly cache: Cache;
  readonly #options: KindControllerOptions;
  readonly #source: string;
  readonly #informer: Informer;
  readonly #release: () => void;
  readonly #queue: WorkQueue;
  readonly #stopped: AbortController = new AbortController();
  #reconcile: PolledReconcile;
  #unsubscribe: () => void = () => undefined;

  constructor(options: KindControllerOptions) {
    const { context, kind, slots, observer, indexers, selection } = options;
    this.kind = kind;
    this.#options = options;
    this.#reconcile = options.reconcile;
    this.#source = qualifiedKind(kind);
    const { informer, release } = context.informers.acquire(kind, selection);
    this.#informer = informer;
    this.#release = release;
    this.cache = informer.cache;
    if (indexers !== undefined) informer.addIndexers(indexers);
    this.#queue = workQueue({
      slots,
      source: this.#source,
      reconcile: (key, signal) =>
        traced(
          context.tracing,
          "reconcile",
          // The reconcile that queued the key is not its caller.
          { parent: {}, attributes: { "xfn.kind": this.#source, "xfn.key": key } },
          () => this.#run(key, signal),
        ),
      onReconcile: ({ failed, milliseconds, waitedMs }) =>
        observer?.({ kind: this.#source, controller: options.controller, failed, milliseconds, waitedMs }),
      onFailure: ({ key, error, failures, retryInMs }) => {
        const retryMs = Math.round(retryInMs);
        // Another writer was faster, such as a user who deleted the object. The retry sees the change.
        const isOvertaken = failures === 1 && isApiError(error, "Conflict");
        // Warn only at the 1st, 2nd, 4th, 8th, ... consecutive failure: a lasting problem must not fill the log.
        const level = Number.isInteger(Math.log2(failures)) && !isOvertaken ? "warn" : "debug";
        context.log[level](
          { kind: this.#source, key, failures, retryMs, ...describeFailure(error) },
          "reconcile failed",
        );
      },
    });
    options.running?.add(this);
    void this.#start();
  }

  /** Why the server refuses to list or watch the kind; undefined for transient problems. */
  get problem(): string | undefined {
    const { problem, failingSince = Number.POSITIVE_INFINITY } = this.#informer;
    const lasts = performance.now() - failingSince >= LASTING_MS;
    const isRefusal = isApiError(problem, "Forbidden") || (lasts && isApiError(problem, "ServerError"));
    return isRefusal ? problem.message : undefined;
  }

  /**
   * Whether an object of this kind with the name and UID of an owner reference exists. Also true while the kind is not
   * listed.
   */
  mayExist({ name, uid }: Pick<ControllerReference, "name" | "uid">, dependent: LiveObject["metadata"]): boolean {
    if (!this.#informer.synced) return true;
    return this.cache.get(name, this.kind.namespaced ? dependent.namespace : undefined)?.metadata.uid === uid;
  }

  /** Reconciles one object soon, by its `queueKey`. */
  enqueue(key: string): void {
    this.#queue.add(key);
  }

  /** Reconciles objects of this kind soon. Default: all. */
  enqueueAll(objects: readonly LiveObject[] = this.cache.list()): void {
    void inTurns(objects, (object) => this.#enqueueObject(object), this.#stopped.signal);
  }

  /** Replaces the reconciler. Running reconciles end with the previous one. */
  replace(reconcile: PolledReconcile): void {
    this.#reconcile = reconcile;
  }

  /** Ends the watch and the queue. Running reconciles get `graceMs` milliseconds to end. */
  async stop(graceMs?: number): Promise<void> {
    this.#stopped.abort(new Error(`the controller of ${this.#source} was stopped`));
    this.#unsubscribe();
    try {
      await this.#queue.stop(graceMs);
    } finally {
      this.#release();
      this.#options.running?.delete(this);
      this.#options.onStopped?.(this.kind);
    }
  }

  async #start(): Promise<void> {
    const { context, prepare } = this.#options;
    const { signal } = this.#stopped;
    try {
      await this.#informer.whenSynced(signal);
      await prepare?.(this.cache, signal);
    } catch (error) {
      if (!signal.aborted) context.log.warn({ kind: this.#source, ...describeFailure(error) }, "preparation failed");
    }
    if (signal.aborted) return;
    const handlers = this.#handlers();
    this.#unsubscribe = this.#informer.subscribe(handlers, { changesOnly: true });
    const addKnown = ({ metadata: { name, namespace } }: LiveObject): void => {
      // The object may have been changed or deleted since its key was queued.
      const current = this.cache.get(name, namespace);
      try {
        if (current !== undefined) handlers.added?.(current);
      } catch (error) {
        context.log.warn({ kind: this.#source, name, ...describeFailure(error) }, "an object was not followed");
      }
    };
    await inTurns(this.cache.list(), addKnown, signal);
  }

  #handlers(): InformerHandlers {
    const { handlers } = this.#options;
    return {
      added: (object) => {
        this.#enqueueObject(object);
        handlers?.added?.(object);
      },
      updated: (object, before) => {
        this.#enqueueObject(object);
        handlers?.updated?.(object, before);
      },
      deleted: (last) => {
        this.#enqueueObject(last);
        handlers?.deleted?.(last);
      },
    };
  }

  /** Deleted objects are not polled. */
  async #run(key: string, signal: AbortSignal): Promise<Outcome | undefined> {
    const outcome = await this.#reconcile(key, signal);
    const { name, namespace } = parseQueueKey(key);
    const object = this.cache.get(name, namespace);
    if (object === undefined) return outcome;
    const ownMs = pollIntervalOf(object);
    if (ownMs !== undefined) return withOwnPoll(outcome, ownMs);
    return withPoll(outcome, this.#options.context.pollIntervalMs, `${this.#source}/${key}`);
  }

  #enqueueObject(object: LiveObject): void {
    const { metadata } = object;
    if (this.#options.isDue?.(object) === false) return;
    this.#queue.add(queueKey(metadata.name, metadata.namespace));
  }
}
