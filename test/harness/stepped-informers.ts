import type {
  Cache,
  Client,
  Indexers,
  Informer,
  InformerHandlers,
  Informers,
  LiveObject,
  ResourceKind,
} from "@xfn/kubernetes";
import { isApiError } from "@xfn/kubernetes";

/** Informers whose caches stand still until they are told to look: what a controller sees is chosen, and the same in each run. */
export interface SteppedInformers extends Informers {
  /** Lists all kinds that somebody wants, or those that `which` says: the others go on seeing what they saw. */
  refresh(which?: (kind: ResourceKind) => boolean): Promise<void>;
  /** Each call of `change` may hide an object from the caches at the next refresh, or give another (older) one in its place. */
  distort(change: ((object: LiveObject) => LiveObject | undefined) | undefined): void;
}

interface Held {
  readonly informer: Informer;
  readonly labelSelector: string | undefined;
  readonly objects: Map<string, LiveObject>;
  readonly handlers: Set<InformerHandlers>;
  users: number;
  listed: boolean;
}

/** @param known the objects of a kind, where somebody watches it already: they are not listed then */
export function steppedInformers(
  client: Client,
  known: (kind: ResourceKind) => readonly LiveObject[] | undefined = () => undefined,
): SteppedInformers {
  const held = new Map<string, Held>();
  let distortion: ((object: LiveObject) => LiveObject | undefined) | undefined;

  const refreshOne = async (one: Held): Promise<void> => {
    const { kind } = one.informer;
    const items =
      (one.labelSelector === undefined ? known(kind) : undefined) ??
      (await listOrNone(client, kind, one.labelSelector));
    const seen = new Map<string, LiveObject>();
    for (const item of items) {
      const shown = distortion === undefined ? item : distortion(item);
      if (shown !== undefined) seen.set(keyOf(shown.metadata.name, shown.metadata.namespace), shown);
    }
    const before = new Map(one.objects);
    one.objects.clear();
    for (const [key, object] of seen) one.objects.set(key, object);
    one.listed = true;
    for (const handlers of one.handlers) tell(handlers, before, seen);
  };

  return {
    acquire: (kind, options) => {
      const key = `${kind.group}/${kind.version}/${kind.plural}?${options?.labelSelector ?? ""}`;
      const one = held.get(key) ?? hold(kind, options?.labelSelector);
      held.set(key, one);
      one.users++;
      return {
        informer: one.informer,
        release: () => {
          one.users--;
          if (one.users === 0) held.delete(key);
        },
      };
    },
    peek: (kind) => {
      const one = held.get(`${kind.group}/${kind.version}/${kind.plural}?`);
      return one?.listed === true ? one.informer.cache : undefined;
    },
    refresh: async (which = () => true) => {
      await Promise.all([...held.values()].filter(({ informer }) => which(informer.kind)).map(refreshOne));
    },
    distort: (change) => {
      distortion = change;
    },
    stop: async () => {
      held.clear();
      await Promise.resolve();
    },
  };
}

function hold(kind: ResourceKind, labelSelector: string | undefined): Held {
  const objects = new Map<string, LiveObject>();
  const handlers = new Set<InformerHandlers>();
  const indexers = new Map<string, (object: LiveObject) => readonly string[]>();
  const cache: Cache = {
    get: (name, namespace) => objects.get(keyOf(name, namespace)),
    list: (namespace) =>
      [...objects.values()].filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
    byIndex: (index, key) => {
      const keys = indexers.get(index);
      if (keys === undefined) throw new TypeError(`no index ${index}`);
      return [...objects.values()].filter((object) => keys(object).includes(key));
    },
  };
  const one: Held = {
    labelSelector,
    objects,
    handlers,
    users: 0,
    listed: false,
    informer: {
      kind,
      cache,
      get synced() {
        return one.listed;
      },
      // It is the stepper that lists: who waits for it would wait for themselves.
      whenSynced: () => Promise.resolve(),
      subscribe: (added) => {
        handlers.add(added);
        for (const object of objects.values()) added.added?.(object);
        return () => handlers.delete(added);
      },
      addIndexers: (added: Indexers) => {
        for (const [name, keys] of Object.entries(added)) indexers.set(name, keys);
      },
    },
  };
  return one;
}

// The kind of a definition that has gone is served no more.
async function listOrNone(
  client: Client,
  kind: ResourceKind,
  labelSelector: string | undefined,
): Promise<readonly LiveObject[]> {
  try {
    return (await client.list(kind, { labelSelector })).items;
  } catch (error) {
    if (isApiError(error, "NotFound", "KindNotServed")) return [];
    throw error;
  }
}

function tell(
  handlers: InformerHandlers,
  before: ReadonlyMap<string, LiveObject>,
  now: ReadonlyMap<string, LiveObject>,
): void {
  for (const [key, object] of now) {
    const last = before.get(key);
    if (last === undefined) handlers.added?.(object);
    else if (last.metadata.resourceVersion !== object.metadata.resourceVersion) handlers.updated?.(object, last);
  }
  for (const [key, last] of before) if (!now.has(key)) handlers.deleted?.(last);
}

function keyOf(name: string, namespace: string | undefined): string {
  return `${namespace ?? ""}/${name}`;
}
