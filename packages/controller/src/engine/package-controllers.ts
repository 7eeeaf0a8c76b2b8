import { textAt } from "@xfn/json";
import type { InformerHandlers, LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import {
  COMPOSITIONS,
  DEFINITIONS,
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  FUNCTIONS,
  IMAGE_CONFIGS,
  LOCK_NAME,
  LOCKS,
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  REVISIONS,
} from "../objects/kinds.ts";
import { LABEL_SOURCE } from "../objects/labels.ts";
import { controllerOf, ownerReferencesOf } from "../objects/owner.ts";
import { KindController, type KindControllerOptions } from "./kind-controller.ts";

/** The time for the first list. A server needs less than a second, but the controller's role may lack the kind. */
const LIST_MS = 30_000;

export interface PackageKindReconcilers {
  readonly kind: ResourceKind;
  readonly revisionKind: ResourceKind;
  readonly package: Reconcile;
  readonly revision: Reconcile;
}

/** The reconcilers of packages, for the enabled kinds. */
export interface PackageReconcilers {
  /** One for each kind of packages. */
  readonly packages?: readonly PackageKindReconcilers[] | undefined;
  /** Reconciles the only Lock. */
  readonly lock?: Reconcile | undefined;
  readonly functionRuntime?: Reconcile | undefined;
  readonly providerRuntime?: Reconcile | undefined;
  /** Reconciles the runtimes of CompositionRevisions. */
  readonly compositionRevision?: Reconcile | undefined;
}

export interface PackageControllersOptions
  extends Pick<KindControllerOptions, "context" | "slots" | "observer" | "running"> {
  readonly reconcilers: PackageReconcilers;
}

/** Reconciles the XRs that use the Composition of a revision. */
type EnqueueUsers = (revision: LiveObject) => void;

/** The controllers of packages, their revisions, the Lock, and runtimes. */
export class PackageControllers {
  readonly #options: PackageControllersOptions;
  readonly #enqueueUsers: EnqueueUsers;
  /** Keyed by kind. */
  readonly #controllers: Map<string, KindController> = new Map();
  readonly #releases: (() => void)[] = [];

  constructor(options: PackageControllersOptions, enqueueUsers: EnqueueUsers) {
    const { reconcilers } = options;
    this.#options = options;
    this.#enqueueUsers = enqueueUsers;
    for (const { kind, revisionKind, package: reconcile, revision: reconcileRevision } of reconcilers.packages ?? []) {
      const isFunction = kind.kind === FUNCTIONS.kind;
      this.#start(kind, reconcile, ({ metadata }) => {
        // A deleted package leaves its name to a dependency.
        this.#controllers.get(LOCKS.kind)?.enqueue(LOCK_NAME);
        if (isFunction) this.#enqueueCallers(metadata.name);
      });
      this.#start(revisionKind, reconcileRevision, (revision) => {
        this.#enqueueOwners(revision);
        // The rights of a provider depend on its CRDs.
        if (revision.kind === PROVIDER_REVISIONS.kind) this.#controllers.get(PROVIDER_RUNTIMES.kind)?.enqueueAll();
        this.#controllers.get(LOCKS.kind)?.enqueue(LOCK_NAME);
        const name = controllerOf(revision)?.name;
        if (isFunction && name !== undefined) this.#enqueueCallers(name);
      });
    }
    this.#start(LOCKS, reconcilers.lock, () => this.#enqueueAll(reconcilers.packages ?? [], false));
    if (reconcilers.packages !== undefined) this.#watchSettings(reconcilers.packages);
    this.#start(REVISIONS, reconcilers.compositionRevision, () => undefined);
    this.#start(PROVIDER_RUNTIMES, reconcilers.providerRuntime, (runtime) => this.#enqueueOwners(runtime));
    this.#start(FUNCTION_RUNTIMES, reconcilers.functionRuntime, (runtime) => {
      this.#closeUnused();
      this.#enqueueOwners(runtime);
      // A user's runtime has no owners. Reconcile the revisions that use it: their status then reconciles their XRs.
      if (runtime.metadata.labels?.[LABEL_SOURCE] === undefined)
        for (const { kind } of [REVISIONS, FUNCTION_REVISIONS]) this.#controllers.get(kind)?.enqueueAll();
      for (const { kind, name } of ownersOf(runtime)) {
        const revision = kind === REVISIONS.kind ? this.#revision(name) : undefined;
        if (revision !== undefined) this.#enqueueUsers(revision);
      }
    });
  }

  /**
   * Waits for the first lists: without them, an XR would report that a Function does not exist. A kind that cannot be
   * listed delays XRs for at most half a minute. XRs that need it then report the missing objects.
   */
  async whenListed(signal: AbortSignal): Promise<void> {
    const { informers } = this.#options.context;
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
    const kinds = [...this.#controllers.values()].map(({ kind }) => kind);
    // Without ImageConfigs, a step would ignore their rewritten location or their required signature.
    if (this.#options.reconcilers.packages !== undefined) kinds.push(IMAGE_CONFIGS);
    await Promise.all(
      kinds.map(async (kind) => {
        const { informer, release } = informers.acquire(kind);
        try {
          await informer.whenSynced(inTime);
        } catch (error) {
          if (signal.aborted || !inTime.aborted) throw error;
        } finally {
          release();
        }
      }),
    );
  }

  /**
   * Reconciles one runtime; without a name, all runtimes. Also reconciles the revisions of Providers, whose webhooks
   * name the Service and the authorities of the runtime.
   */
  enqueueRuntime(kind?: string, name?: string): void {
    if (name === undefined) this.#controllers.get(PROVIDER_REVISIONS.kind)?.enqueueAll();
    const changed =
      kind === PROVIDER_RUNTIMES.kind ? this.#options.context.informers.peek(PROVIDER_RUNTIMES) : undefined;
    const runtime = name === undefined ? undefined : changed?.get(name);
    if (runtime !== undefined) this.#enqueueOwners(runtime);
    for (const one of [FUNCTION_RUNTIMES, PROVIDER_RUNTIMES]) {
      const controller = this.#controllers.get(one.kind);
      if (name === undefined) controller?.enqueueAll();
      else if (kind === one.kind) controller?.enqueue(name);
    }
  }

  /**
   * Reconciles the revision of a ManagedResourceDefinition whose state has changed, and its runtime: a provider runs if
   * one of its kinds is active, and has rights on these. Without a definition, reconciles all runtimes of providers.
   */
  definitionChanged(definition?: LiveObject): void {
    if (definition === undefined) this.#controllers.get(PROVIDER_RUNTIMES.kind)?.enqueueAll();
    const controller = definition && controllerOf(definition);
    if (controller?.kind !== PROVIDER_REVISIONS.kind) return;
    this.#controllers.get(controller.kind)?.enqueue(controller.name);
    const runtimes = this.#options.context.informers.peek(PROVIDER_RUNTIMES)?.list() ?? [];
    for (const runtime of runtimes)
      if (ownerReferencesOf(runtime).some(({ uid }) => uid === controller.uid))
        this.#controllers.get(PROVIDER_RUNTIMES.kind)?.enqueue(runtime.metadata.name);
  }

  async stop(graceMs?: number): Promise<void> {
    for (const release of this.#releases) release();
    await Promise.all([...this.#controllers.values()].map((controller) => controller.stop(graceMs)));
  }

  #start(kind: ResourceKind, reconcile: Reconcile | undefined, changed: (object: LiveObject) => void): void {
    if (reconcile === undefined) return;
    const { reconcilers: _, ...shared } = this.#options;
    const handlers = { added: changed, updated: changed, deleted: changed };
    this.#controllers.set(kind.kind, new KindController({ ...shared, kind, reconcile, handlers }));
  }

  /** Closes connections to functions whose Deployment is gone. */
  #closeUnused(): void {
    const { functions, informers } = this.#options.context;
    const cache = informers.peek(FUNCTION_RUNTIMES);
    if (cache !== undefined) functions?.closeUnused((runtime) => cache.get(runtime) !== undefined);
  }

  /** Reconciles packages whose ImageConfig changed, and revisions whose Composition or definition changed. */
  #watchSettings(packages: readonly PackageKindReconcilers[]): void {
    const configs = (): void => {
      this.#enqueueAll(packages, true);
      this.#controllers.get(LOCKS.kind)?.enqueue(LOCK_NAME);
      // ImageConfigs also set where the runner pulls the packages of steps, and with which Secret.
      for (const revision of this.#options.context.informers.peek(REVISIONS)?.list() ?? [])
        if (callsPackages(revision)) this.#enqueueUsers(revision);
    };
    this.#watch(IMAGE_CONFIGS, { added: configs, updated: configs, deleted: configs });
    const revisions = packages.map(({ revisionKind }) => revisionKind.kind);
    const established = (object: LiveObject): void => {
      const owner = controllerOf(object);
      if (owner !== undefined && revisions.includes(owner.kind)) this.#controllers.get(owner.kind)?.enqueue(owner.name);
    };
    for (const kind of [DEFINITIONS, COMPOSITIONS])
      this.#watch(kind, { updated: (_, before) => established(before), deleted: established });
  }

  #watch(kind: ResourceKind, handlers: InformerHandlers): void {
    const { informer, release } = this.#options.context.informers.acquire(kind);
    this.#releases.push(informer.subscribe(handlers), release);
  }

  #enqueueAll(packages: readonly PackageKindReconcilers[], withPackages: boolean): void {
    for (const { kind, revisionKind } of packages) {
      if (withPackages) this.#controllers.get(kind.kind)?.enqueueAll();
      this.#controllers.get(revisionKind.kind)?.enqueueAll();
    }
  }

  #enqueueOwners(object: LiveObject): void {
    for (const { kind, name } of ownersOf(object)) this.#controllers.get(kind)?.enqueue(name);
  }

  #revision(name: string): LiveObject | undefined {
    return this.#options.context.informers.peek(REVISIONS)?.get(name);
  }

  /** Reconciles the revisions of all Compositions with a step that names the Function, and their XRs. */
  #enqueueCallers(name: string): void {
    for (const revision of this.#options.context.informers.peek(REVISIONS)?.list() ?? [])
      if (calls(revision, name)) {
        this.#controllers.get(REVISIONS.kind)?.enqueue(revision.metadata.name);
        this.#enqueueUsers(revision);
      }
  }
}

/** The kinds and names of an object's owners. */
function ownersOf(object: LiveObject): { kind: string; name: string }[] {
  return ownerReferencesOf(object).flatMap((one) => {
    const [kind, name] = [textAt(one, "kind"), textAt(one, "name")];
    return kind === undefined || name === undefined ? [] : [{ kind, name }];
  });
}

function calls(revision: LiveObject, name: string): boolean {
  return REVISIONS.of(revision).spec.pipeline.some(({ functionRef }) => functionRef.name === name);
}

function callsPackages(revision: LiveObject): boolean {
  return REVISIONS.of(revision).spec.pipeline.some((step) => step.toJSON()["functionRef"] !== undefined);
}
