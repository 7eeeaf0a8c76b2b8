import {
  apiVersionOf,
  type Informer,
  type InformerOptions,
  type Informers,
  inTurns,
  type LiveObject,
  type ResourceKind,
} from "@xfn/kubernetes";
import type { ComposedCache, ComposedWatches } from "../objects/context.ts";
import { isSecretKind } from "../objects/kinds.ts";
import { type ControllerReference, controllerOf } from "../objects/owner.ts";
import type { CacheBytes } from "./cache-bytes.ts";
import { isLost, refusalOf } from "./lost-watch.ts";

/**
 * Every composed resource has this label. Watching only labelled objects keeps an XR with one Secret from loading all
 * Secrets of the cluster into memory. Other writers can also set the label, so the cache retains whole objects only of
 * known XRs.
 */
const SELECTOR = { labelSelector: "crossplane.io/composite" } as const;

/** Called for each change of an object, with its controller. */
type OnChange = (controller: ControllerReference, object: LiveObject) => void;

/** The limits within which the caches retain whole objects. */
export interface CacheBounds {
  /** Whether the controller of an object is an existing XR, or may be one: its kind is not listed yet. */
  isKnown(controller: ControllerReference, object: LiveObject): boolean;
  readonly bytes: Pick<CacheBytes, "composed" | "kindBytes">;
}

interface Watch {
  readonly informer: Informer;
  /** The UIDs of the XRs that need the watch. */
  readonly xrs: Set<string>;
  /** The start of the failures for which {@link ComposedKindWatches.watchFailed} has reported the objects. */
  lostSince: number | undefined;
  end(): void;
}

/** Watches on the kinds of composed resources: one for each needed kind and version. */
export class ComposedKindWatches implements ComposedWatches {
  readonly #informers: Informers;
  readonly #onChange: OnChange;
  readonly #options: InformerOptions;
  readonly #watches: Map<string, Watch> = new Map();
  /** The keys of an XR's kinds, by the XR's UID. */
  readonly #kindsOf: Map<string, ReadonlySet<string>> = new Map();

  constructor(informers: Informers, onChange: OnChange, { isKnown, bytes }: CacheBounds) {
    this.#informers = informers;
    this.#onChange = onChange;
    const keepWhole = (object: LiveObject): boolean => {
      const controller = controllerOf(object);
      return controller !== undefined && isKnown(controller, object);
    };
    this.#options = { ...SELECTOR, keepWhole, maxBytes: bytes.kindBytes, budget: bytes.composed };
  }

  /** The number of watched kinds. */
  get size(): number {
    return this.#watches.size;
  }

  watch(xrUid: string, kinds: readonly ResourceKind[]): void {
    // Core Secrets are read live: a watch needs permission to list all Secrets of the cluster.
    const watchable = kinds.filter((kind) => !isSecretKind(kind));
    const wanted = new Map(watchable.map((kind) => [keyOf(kind), kind]));
    const before = this.#kindsOf.get(xrUid);
    if (wanted.size === 0) this.#kindsOf.delete(xrUid);
    else this.#kindsOf.set(xrUid, new Set(wanted.keys()));
    for (const [key, kind] of wanted) {
      const watch = this.#watches.get(key) ?? this.#start(kind);
      this.#watches.set(key, watch);
      watch.xrs.add(xrUid);
    }
    for (const key of before ?? []) if (!wanted.has(key)) this.#release(xrUid, key);
  }

  /** The number of objects for which the caches have no space. */
  get refused(): number {
    let refused = 0;
    for (const { informer } of this.#watches.values()) refused += informer.refused;
    return refused;
  }

  cache(kind: ResourceKind): ComposedCache | undefined {
    const informer = this.#watches.get(keyOf(kind))?.informer;
    if (informer?.synced !== true || isLost(informer)) return undefined;
    return {
      get: (name, namespace) => informer.cache.get(name, namespace),
      isWhole: (object) => informer.isWhole(object),
      complete: (object) => informer.complete(object),
    };
  }

  problem(kind: ResourceKind): string | undefined {
    const informer = this.#watches.get(keyOf(kind))?.informer;
    return informer && refusalOf(informer);
  }

  /** Reports all objects of a kind once its watch is lost: their XRs have relied on its events. */
  watchFailed(kind: ResourceKind): void {
    const watch = this.#watches.get(keyOf(kind));
    if (watch === undefined || !isLost(watch.informer) || watch.lostSince === watch.informer.failingSince) return;
    watch.lostSince = watch.informer.failingSince;
    void inTurns(watch.informer.cache.list(), (object) => this.#changed(object));
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.end();
    this.#watches.clear();
    this.#kindsOf.clear();
  }

  #start(kind: ResourceKind): Watch {
    const { informer, release } = this.#informers.acquire(kind, this.#options);
    const changed = (object: LiveObject): void => this.#changed(object);
    const unsubscribe = informer.subscribe({
      added: changed,
      updated: (object, before) => {
        this.#changed(object);
        // An object with a new controller also concerns the previous one.
        const last = controllerOf(before);
        if (last !== undefined && last.uid !== controllerOf(object)?.uid) this.#onChange(last, object);
      },
      deleted: changed,
    });
    const end = (): void => {
      unsubscribe();
      release();
    };
    return { informer, xrs: new Set(), lostSince: undefined, end };
  }

  #changed(object: LiveObject): void {
    const controller = controllerOf(object);
    if (controller !== undefined) this.#onChange(controller, object);
  }

  #release(xrUid: string, key: string): void {
    const watch = this.#watches.get(key);
    if (watch?.xrs.delete(xrUid) !== true || watch.xrs.size > 0) return;
    this.#watches.delete(key);
    watch.end();
  }
}

function keyOf(kind: ResourceKind): string {
  return `${apiVersionOf(kind)}/${kind.plural}`;
}
