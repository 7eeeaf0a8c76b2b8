import type { Informer, InformerOptions, Informers, LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { ManagedWatches } from "../objects/context.ts";

/** Only the number of objects matters. */
const OPTIONS: InformerOptions = {
  metadataOnly: true,
  project: ({ apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } }: LiveObject): LiveObject =>
    JSON.parse(JSON.stringify({ apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } })) as LiveObject,
};

interface Watched {
  readonly informer: Informer;
  /** The number of objects. */
  objects: number;
  end: () => void;
}

/** Watches on the objects of kinds of ManagedResourceDefinitions. */
export class ManagedKindWatches implements ManagedWatches {
  readonly #informers: Informers;
  readonly #changed: (definition: string) => void;
  readonly #watched: Map<string, Watched> = new Map();

  /** @param changed called when the first object of a kind is created, or the last one is gone */
  constructor(informers: Informers, changed: (definition: string) => void) {
    this.#informers = informers;
    this.#changed = changed;
  }

  isWatched(definition: string): boolean {
    return this.#watched.has(definition);
  }

  watch(definition: string, kind: ResourceKind): void {
    if (this.isWatched(definition)) return;
    const { informer, release } = this.#informers.acquire(kind, OPTIONS);
    const watched = { informer, objects: 0, end: (): void => undefined };
    const report = (change: 1 | -1) => (): void => {
      const before = watched.objects;
      watched.objects += change;
      if (before === 0 || watched.objects === 0) this.#changed(definition);
    };
    const unsubscribe = informer.subscribe({ added: report(1), deleted: report(-1) });
    const stopped = new AbortController();
    void informer.whenSynced(stopped.signal).then(
      () => this.#changed(definition),
      () => undefined,
    );
    watched.end = () => {
      stopped.abort();
      unsubscribe();
      release();
    };
    this.#watched.set(definition, watched);
  }

  hasObjects(definition: string): boolean | undefined {
    const watched = this.#watched.get(definition);
    return watched?.informer.synced ? watched.objects > 0 : undefined;
  }

  forget(definition: string): void {
    this.#watched.get(definition)?.end();
    this.#watched.delete(definition);
  }

  stop(): void {
    for (const definition of this.#watched.keys()) this.forget(definition);
  }
}
