import { type Informer, type LiveObject, type Reconcile, type ResourceKind, WorkerSlots } from "@xfn/kubernetes";
import type { ManagedReconcilers } from "../managed/managed-reconcilers.ts";
import { isTrue } from "../objects/conditions.ts";
import type {
  ComposedWatches,
  DefinitionBursts,
  InstanceProblems,
  ManagedWatches,
  RequiredWatches,
  WorkloadWatches,
} from "../objects/context.ts";
import {
  APPLICATION_DEFINITIONS,
  CLUSTER_ROLES,
  COMPOSITIONS,
  CRDS,
  DEFINITIONS,
  definitionKey,
  INFRASTRUCTURE_DEFINITIONS,
  PUBLICATIONS,
  parseDefinitionKey,
  REVISIONS,
} from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { queueKey } from "../objects/references.ts";
import type { PolledReconcile } from "../objects/requeue-after.ts";
import { cacheBytes } from "./cache-bytes.ts";
import { ComposedKindWatches } from "./composed-watches.ts";
import { type ConditionCount, countConditions } from "./count-conditions.ts";
import { DefinitionBurst } from "./definition-burst.ts";
import { DefinitionControllers } from "./definition-controllers.ts";
import type { InstanceReconcilers } from "./instance-controllers.ts";
import {
  type EngineContext,
  KindController,
  type KindControllerOptions,
  type ReconcileObserver,
} from "./kind-controller.ts";
import { ManagedControllers } from "./managed-controllers.ts";
import { ManagedKindWatches } from "./managed-watches.ts";
import { OperationControllers, type OperationReconcilers } from "./operation-controllers.ts";
import { PackageControllers, type PackageReconcilers } from "./package-controllers.ts";
import { RequiredObjectWatches } from "./required-watches.ts";
import { RuntimeWorkloadWatches } from "./workload-watches.ts";

/** The reconcilers of `--enable-resource-composition`. */
export interface ResourceCompositionReconcilers {
  readonly infrastructure: PolledReconcile;
  readonly application: PolledReconcile;
  readonly publication: Reconcile;
}

/** The reconcilers of all kinds. */
export interface Reconcilers extends InstanceReconcilers {
  readonly definition: PolledReconcile;
  /** Absent: the kinds are not served. */
  readonly resourceComposition?: ResourceCompositionReconcilers | undefined;
  /** Reconciles the revisions of Compositions. */
  readonly revision: Reconcile;
  /** Absent: packages are disabled. */
  readonly packages?: PackageReconcilers | undefined;
  /** Absent: Operations are disabled. */
  readonly operations?: OperationReconcilers | undefined;
  /** Absent: ManagedResourceDefinitions are disabled. */
  readonly managed?: ManagedReconcilers | undefined;
  /** Absent: usages are disabled. */
  readonly usages?: readonly Pick<KindControllerOptions, "kind" | "reconcile">[] | undefined;
}

export interface EngineOptions {
  /** Concurrent reconciles over all kinds. */
  readonly concurrency: number;
  readonly observer?: ReconcileObserver | undefined;
  /** Called when a kind of composites or claims is no longer reconciled. */
  readonly onStopped?: ((kind: ResourceKind) => void) | undefined;
}

/** The watches of an engine, which its reconcilers use. */
export interface EngineWatches {
  readonly composed: ComposedWatches;
  readonly required: RequiredWatches;
  readonly workloads: WorkloadWatches;
  readonly managed: ManagedWatches;
  /** Why the instances of a definition cannot be listed, by its `definitionKey`. */
  readonly instanceProblems: (definition: string) => InstanceProblems;
  /** Defers the ClusterRoles of definitions during a burst. */
  readonly bursts: DefinitionBursts;
}

/** Current levels, for metrics. */
export interface EngineLevels {
  /** The number of running reconciles. */
  readonly running: number;
  /** The number of reconciles that wait for a slot. */
  readonly waiting: number;
  /** The number of watched kinds of composed resources. */
  readonly composedKinds: number;
  /** The number of composed and required objects for which the caches have no space. */
  readonly uncached: number;
  /** The time in milliseconds since all slots were occupied and no reconcile ended, while reconciles wait. */
  readonly stuckMs: number;
}

export interface Engine {
  /** Resolves when definitions, Compositions and revisions are listed. XRs are reconciled from then on. */
  readonly started: Promise<void>;
  levels(): EngineLevels;
  /** Counts the objects of all reconciled kinds by condition. */
  conditions(): ConditionCount[];
  /** Reports that a kind cannot be listed or watched. Its definition, or XRs that compose the kind, then report it. */
  watchFailed(kind: ResourceKind): void;
  /** Starts no more reconciles. Running reconciles get `graceMs` milliseconds to end. */
  stop(graceMs?: number): Promise<void>;
}

/**
 * Starts the controllers of definitions and Compositions. The controllers of composites and claims follow with their
 * definitions.
 */
export function startEngine(
  context: EngineContext,
  makeReconcilers: (watches: EngineWatches) => Reconcilers,
  options: EngineOptions,
): Engine {
  return new ControllerEngine(context, makeReconcilers, options);
}

class ControllerEngine implements Engine {
  readonly #context: EngineContext;
  readonly #observer: ReconcileObserver | undefined;
  readonly #slots: WorkerSlots;
  readonly #running: Set<KindController> = new Set();
  readonly #composed: ComposedKindWatches;
  readonly #required: RequiredObjectWatches;
  readonly #workloads: RuntimeWorkloadWatches;
  readonly #instances: DefinitionControllers;
  readonly #compositions: KindController;
  /** The controllers of definitions, by kind, and the controller of publications. */
  readonly #definitions: ReadonlyMap<string, KindController>;
  readonly #packages: PackageControllers | undefined;
  readonly #managed: ManagedControllers | undefined;
  readonly #managedKinds: ManagedKindWatches;
  readonly #usages: readonly KindController[];
  readonly #operations: OperationControllers | undefined;
  readonly #burst: DefinitionBurst = new DefinitionBurst((key) => {
    const { kind, name } = parseDefinitionKey(key);
    this.#definitions.get(kind)?.enqueue(name);
  });
  readonly #started: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #stopped: AbortController = new AbortController();
  readonly #unsubscribes: (() => void)[] = [];
  /** Called after the last reconcile, because reconciles need the caches. */
  readonly #releases: (() => void)[] = [];

  constructor(
    context: EngineContext,
    makeReconcilers: (watches: EngineWatches) => Reconcilers,
    options: EngineOptions,
  ) {
    this.#context = context;
    const { informers } = context;
    this.#observer = options.observer;
    this.#slots = new WorkerSlots(options.concurrency);
    const bytes = cacheBytes();
    const composed = new ComposedKindWatches(
      informers,
      ({ apiVersion, kind, name }, { metadata }) => {
        const controller = this.#instances.composites(apiVersion, kind);
        controller?.enqueue(queueKey(name, controller.kind.namespaced ? metadata.namespace : undefined));
      },
      {
        isKnown: (controller, { metadata }) =>
          this.#instances.composites(controller.apiVersion, controller.kind)?.mayExist(controller, metadata) ?? false,
        bytes,
      },
    );
    this.#composed = composed;
    const required = new RequiredObjectWatches(
      informers,
      ({ apiVersion, kind, metadata: { name, namespace } }) =>
        this.#instances.composites(apiVersion, kind)?.enqueue(queueKey(name, namespace)),
      bytes.required,
    );
    this.#required = required;
    this.#workloads = new RuntimeWorkloadWatches(informers, context.namespace, (kind, name) =>
      this.#packages?.enqueueRuntime(kind, name),
    );
    this.#managedKinds = new ManagedKindWatches(informers, (name) => this.#managed?.enqueueProtection(name));
    const reconcilers = makeReconcilers({
      workloads: this.#workloads,
      managed: this.#managedKinds,
      composed,
      required,
      instanceProblems: (name) => this.#instances.problemsOf(name),
      bursts: this.#burst,
    });
    const shared = { context, slots: this.#slots, observer: this.#observer, running: this.#running };
    const { onStopped } = options;
    this.#instances = new DefinitionControllers({ ...shared, onStopped, composed, required, reconcilers });
    const handlers = this.#instances.compositionHandlers;
    this.#compositions = new KindController({
      ...shared,
      kind: COMPOSITIONS,
      reconcile: reconcilers.revision,
      handlers,
    });
    const revisions = this.#watchRevisions();
    this.#packages =
      reconcilers.packages &&
      new PackageControllers({ ...shared, reconcilers: reconcilers.packages }, (revision) =>
        this.#instances.enqueueUsersOf(revision),
      );
    this.#operations =
      reconcilers.operations &&
      new OperationControllers({
        ...shared,
        reconcilers: reconcilers.operations,
        prepare: async (signal) => await this.#packages?.whenListed(signal),
      });
    this.#managed =
      reconcilers.managed &&
      new ManagedControllers(shared, reconcilers.managed, (one) => this.#packages?.definitionChanged(one));
    this.#usages = (reconcilers.usages ?? []).map((one) => new KindController({ ...shared, ...one }));
    // Ignore the rejection if no caller waits for the start.
    this.#started.promise.catch(() => undefined);
    const definitions = (
      kind: ResourceKind,
      reconcile: PolledReconcile,
      prepare: () => Promise<void>,
    ): KindController =>
      new KindController({
        ...shared,
        kind,
        reconcile,
        prepare,
        handlers: {
          added: (definition) => this.#definitionChanged(definition),
          updated: (definition, before) => this.#definitionChanged(definition, before),
          deleted: (last) => {
            this.#instances.deleted(last);
            this.#contractChanged(last);
          },
        },
      });
    const { resourceComposition } = reconcilers;
    const publications = resourceComposition && this.#startPublications(shared, resourceComposition.publication);
    const others = resourceComposition && [
      // Wait for the publications too, so that definitions start with their requirements.
      definitions(INFRASTRUCTURE_DEFINITIONS, resourceComposition.infrastructure, () =>
        this.#whenListed(revisions, PUBLICATIONS),
      ),
      definitions(APPLICATION_DEFINITIONS, resourceComposition.application, () => this.#whenListed(revisions)),
    ];
    const known = definitions(DEFINITIONS, reconcilers.definition, async () => {
      await this.#whenListed(revisions);
      this.#started.resolve();
    });
    const all = [known, ...(others ?? []), ...(publications === undefined ? [] : [publications])];
    this.#definitions = new Map(all.map((controller) => [controller.kind.kind, controller]));
    this.#watchDefined(CRDS);
    this.#watchDefined(CLUSTER_ROLES);
  }

  get started(): Promise<void> {
    return this.#started.promise;
  }

  levels(): EngineLevels {
    const { running, waiting } = this.#slots;
    return {
      running,
      waiting,
      composedKinds: this.#composed.size,
      uncached: this.#composed.refused + this.#required.refused,
      stuckMs: this.#slots.stuckMs,
    };
  }

  conditions(): ConditionCount[] {
    return [...this.#running].flatMap(({ kind, cache }) => countConditions(kind, cache.list()));
  }

  watchFailed(kind: ResourceKind): void {
    this.#composed.watchFailed(kind);
    this.#operations?.watchFailed(kind);
    const affected = this.#instances.definitionOf(kind);
    if (affected === undefined) return;
    const { name = "" } = affected.metadata;
    const { composites, claims } = this.#instances.problemsOf(definitionKey(affected, name));
    for (const one of [affected.kind, PUBLICATIONS.kind]) {
      const controller = this.#definitions.get(one);
      const object = controller?.cache.get(name);
      // While the condition reports the problem, the reconciler requeues by itself.
      const isNews =
        object !== undefined &&
        ((composites !== undefined && isTrue(object, "Established")) ||
          (claims !== undefined && isTrue(object, "Offered")));
      if (isNews) controller?.enqueue(name);
    }
  }

  async stop(graceMs?: number): Promise<void> {
    const reason = new Error("the controllers were stopped");
    this.#stopped.abort(reason);
    this.#started.reject(reason);
    this.#burst.stop();
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    await Promise.all([
      ...[...this.#definitions.values()].map((controller) => controller.stop(graceMs)),
      this.#compositions.stop(graceMs),
      this.#packages?.stop(graceMs),
      this.#managed?.stop(graceMs),
      ...this.#usages.map((controller) => controller.stop(graceMs)),
      this.#operations?.stop(graceMs),
      this.#instances.stop(graceMs),
    ]);
    this.#composed.stop();
    this.#required.stop();
    this.#workloads.stop();
    this.#managedKinds.stop();
    for (const release of this.#releases) release();
  }

  /** Waits for the first lists that XRs need. Without them, an XR would report that its Composition does not exist. */
  async #whenListed(revisions: Informer, ...more: readonly ResourceKind[]): Promise<void> {
    const acquired = [COMPOSITIONS, ...more].map((kind) => this.#context.informers.acquire(kind));
    const { signal } = this.#stopped;
    try {
      await Promise.all([
        ...[revisions, ...acquired.map(({ informer }) => informer)].map((informer) => informer.whenSynced(signal)),
        this.#packages?.whenListed(signal),
      ]);
    } finally {
      for (const { release } of acquired) release();
    }
  }

  #definitionChanged(definition: LiveObject, before?: LiveObject): void {
    this.#instances.changed(definition);
    if (definition.kind === INFRASTRUCTURE_DEFINITIONS.kind)
      this.#definitions.get(PUBLICATIONS.kind)?.enqueue(definition.metadata.name);
    const isNew = before?.metadata["generation"] !== definition.metadata["generation"];
    if (before === undefined || isNew) this.#contractChanged(definition);
  }

  /** Conditions of Compositions report violations of the connection contract of an InfrastructureDefinition. */
  #contractChanged({ kind }: LiveObject): void {
    if (kind === INFRASTRUCTURE_DEFINITIONS.kind) this.#compositions.enqueueAll();
  }

  /** Handles changes of publications: with one, the instances of an InfrastructureDefinition include requirements. */
  #startPublications(
    shared: Pick<KindControllerOptions, "context" | "slots" | "observer" | "running">,
    reconcile: Reconcile,
  ): KindController {
    const changed = ({ metadata: { name } }: LiveObject): void => {
      const controller = this.#definitions.get(INFRASTRUCTURE_DEFINITIONS.kind);
      const definition = controller?.cache.get(name);
      if (definition !== undefined) this.#instances.changed(definition);
      controller?.enqueue(name);
    };
    return new KindController({
      ...shared,
      kind: PUBLICATIONS,
      reconcile,
      handlers: { added: changed, updated: changed, deleted: changed },
    });
  }

  /**
   * Handles changes of revisions. Restores a revision that another writer deleted or renumbered, and reconciles the XRs
   * of the Composition.
   */
  #watchRevisions(): Informer {
    const changed = (revision: LiveObject): void => {
      const composition = controllerOf(revision)?.name;
      if (composition === undefined) return;
      this.#compositions.enqueue(composition);
      this.#instances.enqueueUsersOf(revision);
    };
    const { informer, release } = this.#context.informers.acquire(REVISIONS);
    this.#unsubscribes.push(informer.subscribe({ added: changed, updated: changed, deleted: changed }));
    this.#releases.push(release);
    return informer;
  }

  /**
   * Reconciles a definition when its CRD or a role is changed or deleted. A new CRD or role needs no reconcile: its
   * definition created it.
   */
  #watchDefined(kind: ResourceKind): void {
    const changed = (object: LiveObject): void => {
      const owner = controllerOf(object);
      if (owner !== undefined) this.#definitions.get(owner.kind)?.enqueue(owner.name);
    };
    const { informer, release } = this.#context.informers.acquire(kind, DEFINED_SELECTOR);
    this.#unsubscribes.push(informer.subscribe({ updated: (_, before) => changed(before), deleted: changed }));
    this.#releases.push(release);
  }
}
