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

/** Informers whose caches change only on request, so that a test chooses what a controller sees. */
export interface SteppedInformers extends Informers {
  /** Lists all acquired kinds, or those of `which`. The caches of the others stay as they are. */
  refresh(which?: (kind: ResourceKind) => boolean): Promise<void>;
  /** At the next refresh, `change` may hide an object from the caches, or replace it by an older one. */
  distort(change: ((object: LiveObject) => LiveObject | undefined) | undefined): void;
}

interface SteppedInformer {
  readonly informer: Informer;
  readonly labelSelector: string | undefined;
  readonly objects: Map<string, LiveObject>;
  readonly handlers: Set<InformerHandlers>;
  users: number;
  listed: boolean;
}

/** @param known the objects of a kind that another informer watches; they are not listed again */
export function steppedInformers(
  client: Client,
  known: (kind: ResourceKind) => readonly LiveObject[] | undefined = () => undefined,
): SteppedInformers {
  const acquired = new Map<string, SteppedInformer>();
  let distortion: ((object: LiveObject) => LiveObject | undefined) | undefined;

  const refreshOne = async (one: SteppedInformer): Promise<void> => {
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
    for (const handlers of one.handlers) notify(handlers, before, seen);
  };

  return {
    acquire: (kind, options) => {
      const key = `${kind.group}/${kind.version}/${kind.plural}?${options?.labelSelector ?? ""}`;
      const one = acquired.get(key) ?? steppedInformer(kind, options?.labelSelector);
      acquired.set(key, one);
      one.users++;
      return {
        informer: one.informer,
        release: () => {
          one.users--;
          if (one.users === 0) acquired.delete(key);
        },
      };
    },
    peek: (kind, options) => {
      const one = acquired.get(`${kind.group}/${kind.version}/${kind.plural}?${options?.labelSelector ?? ""}`);
      return one?.listed === true ? one.informer.cache : undefined;
    },
    refresh: async (which = () => true) => {
      await Promise.all([...acquired.values()].filter(({ informer }) => which(informer.kind)).map(refreshOne));
    },
    distort: (change) => {
      distortion = change;
    },
    stop: async () => {
      acquired.clear();
      await Promise.resolve();
    },
  };
}

function steppedInformer(kind: ResourceKind, labelSelector: string | undefined): SteppedInformer {
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
  const one: SteppedInformer = {
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
      // Waiting here would deadlock: the same caller lists.
      whenSynced: () => Promise.resolve(),
      subscribe: (added) => {
        handlers.add(added);
        for (const object of objects.values()) added.added?.(object);
        return () => handlers.delete(added);
      },
      isWhole: () => true,
      refused: 0,
      complete: () => true,
      addIndexers: (added: Indexers) => {
        for (const [name, keys] of Object.entries(added)) indexers.set(name, keys);
      },
    },
  };
  return one;
}

// The kind of a deleted definition is no longer served.
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

function notify(
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
