import { isObject } from "@xfn/functionio";
import type { LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import { FUNCTION_REVISIONS, FUNCTION_RUNTIMES, FUNCTIONS, PROVIDER_RUNTIMES, REVISIONS } from "../objects/kinds.ts";
import { LABEL_SOURCE } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { objectAt, textAt } from "../objects/read-objects.ts";
import { KindController, type KindControllerOptions } from "./kind-controller.ts";

/** The reconcilers of packages: those of the kinds that are enabled. */
export interface PackageReconcilers {
  readonly function?: Reconcile | undefined;
  readonly functionRevision?: Reconcile | undefined;
  readonly functionRuntime?: Reconcile | undefined;
  readonly providerRuntime?: Reconcile | undefined;
  /** Reconciles the runtimes of CompositionRevisions. */
  readonly compositionRevision?: Reconcile | undefined;
}

/** Options of {@link PackageControllers}. */
export interface PackageControllersOptions extends Pick<KindControllerOptions, "context" | "slots" | "observer"> {
  readonly reconcilers: PackageReconcilers;
}

/** Reconciles the XRs that use a Composition. */
type EnqueueUsers = (apiVersion: string, kind: string, composition: string) => void;

/** The controllers of Functions, their revisions, and runtimes. */
export class PackageControllers {
  readonly #options: PackageControllersOptions;
  readonly #enqueueUsers: EnqueueUsers;
  /** By kind. */
  readonly #controllers: Map<string, KindController> = new Map();

  constructor(options: PackageControllersOptions, enqueueUsers: EnqueueUsers) {
    const { reconcilers } = options;
    this.#options = options;
    this.#enqueueUsers = enqueueUsers;
    this.#start(FUNCTIONS, reconcilers.function, ({ metadata }) => this.#enqueueCallers(metadata.name));
    this.#start(FUNCTION_REVISIONS, reconcilers.functionRevision, (revision) => {
      this.#enqueueOwners(revision);
      const name = controllerOf(revision)?.name;
      if (name !== undefined) this.#enqueueCallers(name);
    });
    this.#start(REVISIONS, reconcilers.compositionRevision, () => undefined);
    this.#start(PROVIDER_RUNTIMES, reconcilers.providerRuntime, (runtime) => this.#enqueueOwners(runtime));
    this.#start(FUNCTION_RUNTIMES, reconcilers.functionRuntime, (runtime) => {
      this.#closeUnused();
      this.#enqueueOwners(runtime);
      // A user's runtime has no owners. The status of the revisions that use it follows, and reconciles their XRs.
      if (runtime.metadata.labels?.[LABEL_SOURCE] === undefined)
        for (const { kind } of [REVISIONS, FUNCTION_REVISIONS]) this.#controllers.get(kind)?.enqueueAll();
      for (const { kind, name } of ownersOf(runtime)) {
        const revision = kind === REVISIONS.kind ? this.#revision(name) : undefined;
        if (revision !== undefined) this.#enqueueUsersOf(revision);
      }
    });
  }

  /** Waits for the first lists: without them, an XR would report that a Function does not exist. */
  async whenListed(signal: AbortSignal): Promise<void> {
    const { informers } = this.#options.context;
    await Promise.all(
      [...this.#controllers.values()].map(async ({ kind }) => {
        const { informer, release } = informers.acquire(kind);
        try {
          await informer.whenSynced(signal);
        } finally {
          release();
        }
      }),
    );
  }

  /** Reconciles one runtime; without a name, all. */
  enqueueRuntime(kind?: string, name?: string): void {
    for (const one of [FUNCTION_RUNTIMES, PROVIDER_RUNTIMES]) {
      const controller = this.#controllers.get(one.kind);
      if (name === undefined) controller?.enqueueAll();
      else if (kind === one.kind) controller?.enqueue(name);
    }
  }

  async stop(graceMs?: number): Promise<void> {
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

  #enqueueOwners(object: LiveObject): void {
    for (const { kind, name } of ownersOf(object)) this.#controllers.get(kind)?.enqueue(name);
  }

  #revision(name: string): LiveObject | undefined {
    return this.#options.context.informers.peek(REVISIONS)?.get(name);
  }

  /** Reconciles the XRs of all Compositions with a step that names the Function. */
  #enqueueCallers(name: string): void {
    for (const revision of this.#options.context.informers.peek(REVISIONS)?.list() ?? [])
      if (calls(revision, name)) this.#enqueueUsersOf(revision);
  }

  #enqueueUsersOf(revision: LiveObject): void {
    const composition = controllerOf(revision)?.name;
    const apiVersion = textAt(revision, "spec", "compositeTypeRef", "apiVersion");
    const kind = textAt(revision, "spec", "compositeTypeRef", "kind");
    if (composition === undefined || apiVersion === undefined || kind === undefined) return;
    this.#enqueueUsers(apiVersion, kind, composition);
  }
}

/** The kinds and names of an object's owners. */
function ownersOf({ metadata }: LiveObject): { kind: string; name: string }[] {
  const references = metadata["ownerReferences"];
  return (Array.isArray(references) ? references : []).flatMap((one) => {
    const [kind, name] = [textAt(one, "kind"), textAt(one, "name")];
    return kind === undefined || name === undefined ? [] : [{ kind, name }];
  });
}

function calls(revision: LiveObject, name: string): boolean {
  const { pipeline } = objectAt(revision, "spec");
  return (
    Array.isArray(pipeline) && pipeline.some((step) => isObject(step) && textAt(step, "functionRef", "name") === name)
  );
}
