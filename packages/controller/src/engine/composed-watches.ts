import type { Cache, Informer, Informers, LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { ComposedWatches } from "../objects/context.ts";
import { type ControllerReference, controllerOf } from "../objects/owner.ts";

/**
 * Every composed resource has this label: only objects that have it are watched, so that an XR with a Secret does not bring all
 * Secrets of a cluster into memory, and changes of what nobody composed cost nothing.
 */
const SELECTOR = { labelSelector: "crossplane.io/composite" } as const;

/** @param changed told of each change of an object that has a controller */
export function composedWatches(
  informers: Informers,
  changed: (controller: ControllerReference, object: LiveObject) => void,
): ComposedWatches & { readonly kinds: number; stop(): void } {
  const watched = new Map<string, { informer: Informer; xrs: Set<string>; end: () => void }>();
  const kindsOf = new Map<string, ReadonlySet<string>>();

  const tell = (object: LiveObject): void => {
    const controller = controllerOf(object);
    if (controller !== undefined) changed(controller, object);
  };
  const begin = (kind: ResourceKind): { informer: Informer; xrs: Set<string>; end: () => void } => {
    const { informer, release } = informers.acquire(kind, SELECTOR);
    const unsubscribe = informer.subscribe({
      added: tell,
      updated(object, before) {
        tell(object);
        // One that was taken from its XR: that one is to know.
        const last = controllerOf(before);
        if (last !== undefined && last.uid !== controllerOf(object)?.uid) changed(last, object);
      },
      deleted: tell,
    });
    return {
      informer,
      xrs: new Set(),
      end: () => {
        unsubscribe();
        release();
      },
    };
  };
  const letGo = (xrUid: string, key: string): void => {
    const watch = watched.get(key);
    if (watch?.xrs.delete(xrUid) !== true || watch.xrs.size > 0) return;
    watched.delete(key);
    watch.end();
  };
  return {
    get kinds() {
      return watched.size;
    },
    watch(xrUid, kinds) {
      const wanted = new Map(kinds.map((kind) => [keyOfKind(kind), kind]));
      const before = kindsOf.get(xrUid);
      if (wanted.size === 0) kindsOf.delete(xrUid);
      else kindsOf.set(xrUid, new Set(wanted.keys()));
      for (const [key, kind] of wanted) {
        const watch = watched.get(key) ?? begin(kind);
        watched.set(key, watch);
        watch.xrs.add(xrUid);
      }
      for (const key of before ?? []) if (!wanted.has(key)) letGo(xrUid, key);
    },
    cache(kind): Cache | undefined {
      const informer = watched.get(keyOfKind(kind))?.informer;
      return informer?.synced === true ? informer.cache : undefined;
    },
    stop() {
      for (const { end } of watched.values()) end();
      watched.clear();
      kindsOf.clear();
    },
  };
}

/** One version of one kind. */
function keyOfKind({ group, version, plural }: ResourceKind): string {
  return `${group}/${version}/${plural}`;
}
