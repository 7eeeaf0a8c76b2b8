import type { LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import { OPERATIONS } from "../kinds/operations.ts";
import { controllerOf } from "../objects/owner.ts";
import { KindController, type KindControllerOptions } from "./kind-controller.ts";

/** The reconcilers of `--enable-operations`. */
export interface OperationReconcilers {
  readonly operation: Reconcile;
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

  constructor(options: OperationControllersOptions) {
    this.#options = options;
    const { reconcilers } = options;
    this.#start(OPERATIONS, reconcilers.operation, (operation) => this.#enqueueOwner(operation));
  }

  async stop(graceMs?: number): Promise<void> {
    await Promise.all([...this.#controllers.values()].map((controller) => controller.stop(graceMs)));
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
