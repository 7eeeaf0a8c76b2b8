import type { LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import { CRON_OPERATIONS, OPERATIONS, WATCH_OPERATIONS } from "../kinds/operations.ts";
import type { OperationWatches } from "../objects/context.ts";
import { controllerOf } from "../objects/owner.ts";
import { KindController, type KindControllerOptions } from "./kind-controller.ts";
import { WatchedObjects } from "./watched-objects.ts";

/** The reconcilers of `--enable-operations`. */
export interface OperationReconcilers {
  readonly operation: Reconcile;
  readonly cronOperation: Reconcile;
  readonly watchOperation: (watches: OperationWatches) => Reconcile;
}

export interface OperationControllersOptions
  extends Pick<KindControllerOptions, "context" | "slots" | "observer" | "running"> {
  readonly reconcilers: OperationReconcilers;
  /** Waits for the lists that runs of functions need. */
  readonly prepare: (signal: AbortSignal) => Promise<void>;
}

/** The controllers of Operations, and of the kinds that create them. */
export class OperationControllers {
  readonly #options: OperationControllersOptions;
  /** Keyed by kind. */
  readonly #controllers: Map<string, KindController> = new Map();
  readonly #watches: WatchedObjects;

  constructor(options: OperationControllersOptions) {
    this.#options = options;
    const { reconcilers } = options;
    this.#watches = new WatchedObjects(options.context.informers, (name) =>
      this.#controllers.get(WATCH_OPERATIONS.kind)?.enqueue(name),
    );
    this.#start(WATCH_OPERATIONS, reconcilers.watchOperation(this.#watches), () => undefined);
    this.#start(CRON_OPERATIONS, reconcilers.cronOperation, () => undefined);
    this.#start(OPERATIONS, reconcilers.operation, (operation) => this.#enqueueOwner(operation));
  }

  /** Reports that a kind cannot be listed or watched. */
  watchFailed(kind: ResourceKind): void {
    this.#watches.watchFailed(kind);
  }

  async stop(graceMs?: number): Promise<void> {
    await Promise.all([...this.#controllers.values()].map((controller) => controller.stop(graceMs)));
    this.#watches.stop();
  }

  #start(kind: ResourceKind, reconcile: Reconcile, changed: (object: LiveObject) => void): void {
    const { reconcilers: _, prepare, ...shared } = this.#options;
    const handlers = { added: changed, updated: changed, deleted: changed };
    const options = {
      ...shared,
      kind,
      reconcile,
      handlers,
      prepare: (_: unknown, signal: AbortSignal) => prepare(signal),
    };
    this.#controllers.set(kind.kind, new KindController(options));
  }

  #enqueueOwner(operation: LiveObject): void {
    const owner = controllerOf(operation);
    if (owner !== undefined) this.#controllers.get(owner.kind)?.enqueue(owner.name);
  }
}
