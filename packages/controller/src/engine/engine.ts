import { type LiveObject, type Reconcile, WorkerSlots } from "@xfn/kubernetes";
import type { Context } from "../objects/context.ts";
import { COMPOSITIONS, CRDS, DEFINITIONS, REVISIONS } from "../objects/kinds.ts";
import { LABEL_DEFINED } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { textAt } from "../objects/read-objects.ts";
import { queueKey } from "../objects/references.ts";
import { composedWatches } from "./composed-watches.ts";
import { definitionControllers, type InstanceReconcilers } from "./definition-controllers.ts";
import type { ReconcileWatcher } from "./engine-metrics.ts";
import { startKindController } from "./kind-controller.ts";

/** Everything that reconciles. */
export interface Reconcilers extends InstanceReconcilers {
  /** Definitions: their CRDs, their conditions, their end. */
  readonly definition: Reconcile;
  /** Compositions: their revisions. */
  readonly revision: Reconcile;
}

/** Options of {@link startEngine}. */
export interface EngineOptions {
  /** Reconciles at a time, over all kinds. */
  readonly concurrency: number;
  readonly watcher?: ReconcileWatcher | undefined;
}

/** The controllers of this process. */
export interface Engine {
  /** What there is of each, for metrics. */
  levels(): { running: number; waiting: number; composedKinds: number };
  /** Resolves when definitions, compositions and revisions have been listed: from then on XRs are reconciled. */
  readonly started: Promise<void>;
  /** No more reconciles; those that run may go on for `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

/**
 * Starts the controllers: those of definitions and compositions at once, those of composites and claims with their definitions.
 *
 * @param makeReconcilers given the context with its watches on composed kinds
 */
export function startEngine(
  base: Context,
  makeReconcilers: (context: Context) => Reconcilers,
  options: EngineOptions,
): Engine {
  const { informers } = base;
  const slots = new WorkerSlots(options.concurrency);
  const composed = composedWatches(informers, ({ apiVersion, kind, name }, { metadata }) => {
    const controller = instances.composites(apiVersion, kind);
    controller?.enqueue(queueKey(name, controller.kind.namespaced ? metadata.namespace : undefined));
  });
  const context: Context = { ...base, composed };
  const reconcilers = makeReconcilers(context);
  const { watcher } = options;
  const instances = definitionControllers({ context, composed, reconcilers, slots, watcher });
  const revisions = informers.acquire(REVISIONS);
  const stopped = new AbortController();

  const compositionController = startKindController({
    context,
    kind: COMPOSITIONS,
    reconcile: reconcilers.revision,
    slots,
    watcher,
  });
  // Revisions are made again when somebody takes them away, and numbered again when somebody numbers them, such as a leader of
  // before; the XRs that use a composition follow what comes.
  const revisionChanged = (revision: LiveObject): void => {
    const composition = controllerOf(revision)?.name;
    if (composition === undefined) return;
    compositionController.enqueue(composition);
    const apiVersion = textAt(revision, "spec", "compositeTypeRef", "apiVersion");
    const kind = textAt(revision, "spec", "compositeTypeRef", "kind");
    if (apiVersion !== undefined && kind !== undefined) instances.enqueueUsers(apiVersion, kind, composition);
  };
  const unsubscribe = revisions.informer.subscribe({
    added: revisionChanged,
    updated: revisionChanged,
    deleted: revisionChanged,
  });
  // An XR that is looked at before its composition is known would be told that there is none.
  const known = async (): Promise<void> => {
    const compositions = informers.acquire(COMPOSITIONS);
    try {
      await Promise.all(
        [revisions.informer, compositions.informer].map((informer) => informer.whenSynced(stopped.signal)),
      );
    } finally {
      compositions.release();
    }
  };
  const started = Promise.withResolvers<void>();
  started.promise.catch(() => undefined);
  const definitionController = startKindController({
    context,
    kind: DEFINITIONS,
    reconcile: reconcilers.definition,
    slots,
    watcher,
    prepare: async () => {
      await known();
      started.resolve();
    },
    handlers: {
      added: (definition) => instances.changed(definition),
      updated: (definition) => instances.changed(definition),
      deleted: (last) => instances.gone(last),
    },
  });
  const crds = informers.acquire(CRDS, { labelSelector: LABEL_DEFINED });
  const crdChanged = (crd: LiveObject): void => {
    const owner = controllerOf(crd);
    if (owner?.kind === DEFINITIONS.kind) definitionController.enqueue(owner.name);
  };
  // Each definition looks at its CRDs when it is listed: those that are there at first are no news.
  const forgetCrds = crds.informer.subscribe({ updated: (_, before) => crdChanged(before), deleted: crdChanged });
  return {
    started: started.promise,
    levels: () => ({ running: slots.running, waiting: slots.waiting, composedKinds: composed.kinds }),
    async stop(graceMs) {
      const reason = new Error("the controllers were stopped");
      stopped.abort(reason);
      started.reject(reason);
      unsubscribe();
      forgetCrds();
      await Promise.all([
        definitionController.stop(graceMs),
        compositionController.stop(graceMs),
        instances.stop(graceMs),
      ]);
      composed.stop();
      revisions.release();
      crds.release();
    },
  };
}
