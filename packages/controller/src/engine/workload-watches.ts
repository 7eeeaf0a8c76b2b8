import type { Cache, Informer, InformerOptions, Informers, LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { WorkloadWatches } from "../objects/context.ts";
import { DEPLOYMENTS, RUNTIME_CONFIGS, SECRETS, SERVICE_ACCOUNTS, SERVICES } from "../objects/kinds.ts";
import { LABEL_RUNTIME } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";

/** Reconciles one runtime; without a name, all runtimes. */
type EnqueueRuntime = (kind?: string, name?: string) => void;

/**
 * Watches on the objects that run functions and providers. They start with the first runtime that has a Deployment.
 * Until then, the controller needs no rights for these kinds.
 */
export class RuntimeWorkloadWatches implements WorkloadWatches {
  readonly #informers: Informers;
  readonly #namespace: string;
  readonly #enqueue: EnqueueRuntime;
  readonly #watched: Map<string, Informer> = new Map();
  readonly #ends: (() => void)[] = [];
  #stopped = false;

  constructor(informers: Informers, namespace: string, enqueue: EnqueueRuntime) {
    this.#informers = informers;
    this.#namespace = namespace;
    this.#enqueue = enqueue;
  }

  watch(): void {
    if (this.#stopped || this.#watched.size > 0) return;
    const own = { namespace: this.#namespace, labelSelector: LABEL_RUNTIME };
    for (const kind of [DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS, SECRETS])
      this.#start(kind, own, (object) => {
        const owner = controllerOf(object);
        this.#enqueue(owner?.kind, owner?.name);
      });
    this.#start(RUNTIME_CONFIGS, {}, () => this.#enqueue());
  }

  caches(): ((kind: ResourceKind) => Cache | undefined) | undefined {
    const all = [...this.#watched.values()];
    if (all.length === 0 || !all.every(({ synced }) => synced)) return undefined;
    return (kind) => this.#watched.get(kind.kind)?.cache;
  }

  stop(): void {
    this.#stopped = true;
    for (const end of this.#ends.splice(0)) end();
    this.#watched.clear();
  }

  #start(kind: ResourceKind, options: InformerOptions, changed: (object: LiveObject) => void): void {
    const { informer, release } = this.#informers.acquire(kind, options);
    const unsubscribe = informer.subscribe({ added: changed, updated: changed, deleted: changed });
    this.#watched.set(kind.kind, informer);
    this.#ends.push(unsubscribe, release);
  }
}
