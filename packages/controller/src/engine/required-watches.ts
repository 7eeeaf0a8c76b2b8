import { textAt } from "@xfn/json";
import type { Cache, CacheBudget, Informer, Informers, LiveObject } from "@xfn/kubernetes";
import { MAX_REQUIRED_BYTES } from "../functions/required-objects.ts";
import type { RequiredWatches, Selection, WatchPurpose } from "../objects/context.ts";
import { isLost } from "./lost-watch.ts";

/**
 * Each watch is an open request. A tenant can have as many watches as are still free, so that a new tenant always gets
 * some. The objects of further selections are read at the next poll.
 */
const MAX_WATCHES = 1_000;

interface Watch {
  readonly informer: Informer;
  /** The XRs that need the watch, by UID and purpose. */
  readonly xrs: Map<string, { readonly xr: LiveObject; readonly concerns: Selection["concerns"] }>;
  /** The tenant of the XR that started the watch. */
  readonly tenant: string;
  end(): void;
}

/** Watches on the objects that functions require: one for each needed selection. Their caches contain nothing else. */
export class RequiredObjectWatches implements RequiredWatches {
  readonly #informers: Informers;
  readonly #budget: CacheBudget;
  readonly #enqueue: (xr: LiveObject) => void;
  readonly #watches: Map<string, Watch> = new Map();
  /** The keys of an XR's selections, by the XR's UID and the purpose. */
  readonly #keysOf: Map<string, ReadonlySet<string>> = new Map();
  /** The number of watches of each tenant. */
  readonly #counts: Map<string, number> = new Map();

  /**
   * @param enqueue reconciles an XR when one of its required objects has changed
   * @param budget shared by all caches
   */
  constructor(informers: Informers, enqueue: (xr: LiveObject) => void, budget: CacheBudget) {
    this.#informers = informers;
    this.#enqueue = enqueue;
    this.#budget = budget;
  }

  /** The number of watched selections. */
  get size(): number {
    return this.#watches.size;
  }

  watch(xr: LiveObject, selections: readonly Selection[], purpose: WatchPurpose = "required"): void {
    const owner = ownerOf(xr.metadata.uid, purpose);
    const wanted = new Map(selections.map((selection) => [keyOf(selection), selection]));
    for (const key of this.#keysOf.get(owner) ?? []) if (!wanted.has(key)) this.#release(owner, key);
    for (const [key, selection] of wanted) {
      const watch = this.#watches.get(key) ?? this.#start(key, selection, tenantOf(xr));
      if (watch === undefined) wanted.delete(key);
      else watch.xrs.set(owner, { xr, concerns: selection.concerns });
    }
    if (wanted.size === 0) this.#keysOf.delete(owner);
    else this.#keysOf.set(owner, new Set(wanted.keys()));
  }

  forget(xrUid: string): void {
    for (const purpose of PURPOSES) {
      const owner = ownerOf(xrUid, purpose);
      for (const key of this.#keysOf.get(owner) ?? []) this.#release(owner, key);
      this.#keysOf.delete(owner);
    }
  }

  /** The number of objects for which the caches have no space. */
  get refused(): number {
    let refused = 0;
    for (const { informer } of this.#watches.values()) refused += informer.refused;
    return refused;
  }

  cache(selection: Selection): Cache | undefined {
    const informer = this.#watches.get(keyOf(selection))?.informer;
    return informer?.synced === true && informer.refused === 0 && !isLost(informer) ? informer.cache : undefined;
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.end();
    this.#watches.clear();
    this.#keysOf.clear();
    this.#counts.clear();
  }

  #start(key: string, selection: Selection, tenant: string): Watch | undefined {
    const count = this.#counts.get(tenant) ?? 0;
    if (count >= MAX_WATCHES - this.#watches.size) return undefined;
    this.#counts.set(tenant, count + 1);
    const { kind, namespace, labelSelector, fieldSelector } = selection;
    const options = { namespace, labelSelector, fieldSelector, maxBytes: MAX_REQUIRED_BYTES, budget: this.#budget };
    const { informer, release } = this.#informers.acquire(kind, options);
    const xrs: Watch["xrs"] = new Map();
    const changed = (...states: readonly LiveObject[]): void => {
      for (const { xr, concerns } of xrs.values())
        if (concerns === undefined || states.some(concerns)) this.#enqueue(xr);
    };
    const unsubscribe = informer.subscribe({
      added: (object) => changed(object),
      updated: (object, before) => changed(object, before),
      deleted: (last) => changed(last),
    });
    const end = (): void => {
      unsubscribe();
      release();
    };
    const watch: Watch = { informer, xrs, tenant, end };
    this.#watches.set(key, watch);
    return watch;
  }

  #release(owner: string, key: string): void {
    const watch = this.#watches.get(key);
    if (watch?.xrs.delete(owner) !== true || watch.xrs.size > 0) return;
    this.#watches.delete(key);
    const left = (this.#counts.get(watch.tenant) ?? 1) - 1;
    if (left === 0) this.#counts.delete(watch.tenant);
    else this.#counts.set(watch.tenant, left);
    watch.end();
  }
}

const PURPOSES: readonly WatchPurpose[] = ["required", "inputs"];

/** The namespace of an XR or its claim. Cluster-scoped XRs without a claim share a tenant by their kind. */
function tenantOf(xr: LiveObject): string {
  return xr.metadata.namespace ?? textAt(xr, "spec", "claimRef", "namespace") ?? `${xr.apiVersion}/${xr.kind}`;
}

function ownerOf(xrUid: string, purpose: WatchPurpose): string {
  return `${xrUid}/${purpose}`;
}

function keyOf({ kind, namespace, labelSelector, fieldSelector }: Selection): string {
  return JSON.stringify([kind.group, kind.version, kind.plural, namespace, labelSelector, fieldSelector]);
}
