import { documentOf, parseComposition } from "@xfn/composition";
import { type Definition, parseDefinition } from "@xfn/composition/definition";
import { type ComposedWatches, type CompositeOptions, compositeReconciler } from "@xfn/controller";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import {
  type Cache,
  type Client,
  type ConnectedClient,
  connect,
  type LiveObject,
  loadKubeconfig,
  type Outcome,
  type RequestOutcome,
  type ResourceKind,
  startInformers,
} from "@xfn/kubernetes";
import { afterAll, beforeAll } from "vitest";
import { startApiServer, type TestApiServer } from "./api-server.ts";
import { DEFINITION, installKinds } from "./composite-kinds.ts";
import { wholeCache } from "./whole-cache.ts";

/** An event that a reconciler emitted. */
export interface RecordedEvent {
  readonly about: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** A composite reconciler on a real API server. Tests start each reconcile, so that they can count its requests. */
export interface CompositeWorld {
  readonly client: ConnectedClient;
  readonly definition: Definition;
  readonly events: RecordedEvent[];
  /** All log lines. */
  readonly logged: string[];
  /**
   * Requests of the reconciler since the last call, such as `apply widgets`, without the informers' watches and lists.
   */
  requests(): string[];
  /** The requests among them that may change an object. */
  writes(): string[];
  /** Sets the only Composition. */
  compose(spec: JsonObject): void;
  /** The reconciler's client, with other methods. */
  wrap(change: (inner: Client) => Partial<Client>): Client;
  /** Creates an XR and waits until the reconciler's cache has it. */
  create(name: string, spec?: JsonObject, metadata?: JsonObject): Promise<LiveObject>;
  /** Reconciles once, after the caches have caught up with the server. */
  reconcile(name: string, context?: Partial<CompositeOptions>): Promise<Outcome | undefined>;
  /** Replaces the reconciler by a new one without memory, as a new process would. */
  restart(): void;
  xr(name: string): Promise<LiveObject>;
  find(apiVersion: string, kind: string, name: string, namespace?: string): Promise<LiveObject | undefined>;
  stop(): Promise<void>;
}

/** Starts an API server with the kinds of a world for the tests of a `describe`. @param use receives the world once */
export function provideCompositeWorld(use: (world: CompositeWorld) => void): void {
  let server: TestApiServer;
  let world: CompositeWorld;
  beforeAll(async () => {
    server = await startApiServer();
    await installKinds(server);
    world = await compositeWorld(server);
    use(world);
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });
}

const XRS: ResourceKind = {
  group: "example.org",
  version: "v1",
  kind: "XDatabase",
  plural: "xdatabases",
  namespaced: false,
};

/**
 * @param overrides fields of the reconciler's context, such as the runner or the client; `as`: the user of its requests
 */
export async function compositeWorld(
  server: TestApiServer,
  overrides: Partial<CompositeOptions> & { readonly wrap?: (client: Client) => Client; readonly as?: string } = {},
): Promise<CompositeWorld> {
  const sent: RequestOutcome[] = [];
  const access = await loadKubeconfig({ path: server.admin.kubeconfig });
  const { as = server.admin.name, wrap = (inner) => inner, ...rest } = overrides;
  const client = await connect({
    access: await loadKubeconfig({ path: server.user(as).kubeconfig }),
    fieldManager: "test",
    onRequest: (outcome) => sent.push(outcome),
  });
  const own = await connect({ access, fieldManager: "user" });
  const informers = startInformers(own);
  const events: RecordedEvent[] = [];
  const logged: string[] = [];
  const definition = parseDefinition(documentOf(DEFINITION));
  const { informer: xrs } = informers.acquire(XRS);
  await xrs.whenSynced();
  const watched = new Map<string, { cache: Cache; synced: boolean }>();
  const composed: ComposedWatches = {
    watch(_, kinds) {
      for (const kind of kinds) {
        const key = `${kind.group}/${kind.plural}`;
        if (!watched.has(key))
          watched.set(key, informers.acquire(kind, { labelSelector: "crossplane.io/composite" }).informer);
      }
    },
    cache(kind) {
      const informer = watched.get(`${kind.group}/${kind.plural}`);
      return informer?.synced === true ? wholeCache(informer.cache) : undefined;
    },
    problem: () => undefined,
  };
  let revision: LiveObject | undefined;
  const revisions = (): LiveObject[] => (revision === undefined ? [] : [revision]);
  const line =
    (level: string) =>
    (fields: unknown, message: string): void => {
      logged.push(`${level} ${message} ${JSON.stringify(fields)}`);
    };
  const context: CompositeOptions = {
    client: wrap(client),
    informers: {
      acquire: (kind, options) => informers.acquire(kind, options),
      peek: (kind) => {
        if (kind.kind === "Composition") return cacheOf(revisions().map(compositionOfRevision));
        if (kind.kind === "CompositionRevision") return cacheOf(revisions());
        return informers.peek(kind);
      },
      stop: () => informers.stop(),
    },
    events: {
      record: ({ kind, metadata }, event) => void events.push({ about: `${kind} ${metadata?.name}`, ...event }),
      flush: async () => {},
    },
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
    composed,
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: Date.now,
    ...rest,
  };
  let contexts = new Map<Partial<CompositeOptions> | undefined, ReturnType<typeof compositeReconciler>>();
  const read = (name: string): Promise<LiveObject> =>
    own.get({ apiVersion: "example.org/v1", kind: "XDatabase", name });
  const find: CompositeWorld["find"] = async (apiVersion, kind, name, namespace) => {
    const found = await own.list(await own.kind(apiVersion, kind), { fieldSelector: `metadata.name=${name}` });
    return found.items.find((one) => namespace === undefined || one.metadata.namespace === namespace);
  };
  // Wait until the caches match the server.
  const caughtUp = async (name: string): Promise<void> => {
    const same = (cache: Cache | undefined, live: readonly LiveObject[]): boolean =>
      cache === undefined ||
      (cache.list().length === live.length &&
        live.every(({ metadata }) => {
          const cached = cache.get(metadata.name, metadata.namespace);
          return cached?.metadata.resourceVersion === metadata.resourceVersion;
        }));
    for (;;) {
      const xr = await find("example.org/v1", "XDatabase", name);
      const cached = xrs.cache.get(name);
      const kinds = await Promise.all(
        [...watched].map(async ([key, { cache, synced }]) => {
          const [group, plural] = key.split("/");
          const kind = [...seen.values()].find((one) => one.group === group && one.plural === plural);
          if (kind === undefined) return synced;
          const { items } = await own.list(kind, { labelSelector: "crossplane.io/composite" });
          return synced && same(cache, items);
        }),
      );
      if (cached?.metadata.resourceVersion === xr?.metadata.resourceVersion && kinds.every(Boolean)) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const seen = new Map<string, ResourceKind>();
  const watch = composed.watch.bind(composed);
  Object.assign(composed, {
    watch: (uid: string, kinds: readonly ResourceKind[]) => {
      for (const kind of kinds) seen.set(`${kind.group}/${kind.plural}`, kind);
      watch(uid, kinds);
    },
  });
  let number = 0;
  const requests = (): string[] =>
    sent
      .splice(0)
      .filter(({ verb }) => verb !== "discover")
      .map(({ verb, resource }) => `${verb} ${resource}`);
  return {
    client: own,
    definition,
    events,
    logged,
    requests,
    writes: () => requests().filter((one) => !/^(get|list) /.test(one)),
    compose(spec) {
      number++;
      const document = {
        apiVersion: "apiextensions.crossplane.io/v1",
        kind: "Composition",
        metadata: { name: "databases" },
        spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XDatabase" }, ...spec },
      };
      parseComposition(documentOf(document));
      revision = revisionOf(document, number);
    },
    wrap: (change) => ({ ...client, ...change(client) }),
    async create(name, spec = {}, metadata = {}) {
      await own.create({
        apiVersion: "example.org/v1",
        kind: "XDatabase",
        metadata: { ...metadata, name },
        spec,
      });
      await caughtUp(name);
      return read(name);
    },
    async reconcile(name, more) {
      await caughtUp(name);
      sent.length = 0;
      let reconciler = contexts.get(more);
      if (reconciler === undefined) {
        reconciler = compositeReconciler({ ...context, ...more }, definition);
        contexts.set(more, reconciler);
      }
      return reconciler(name, AbortSignal.timeout(30_000));
    },
    restart() {
      contexts = new Map();
    },
    xr: read,
    find,
    async stop() {
      await informers.stop();
      await Promise.all([client.close(), own.close()]);
    },
  };
}

function revisionOf(composition: KubernetesObject, number: number): LiveObject {
  return {
    ...composition,
    kind: "CompositionRevision",
    apiVersion: "apiextensions.crossplane.io/v1",
    metadata: {
      name: `databases-${number}`,
      uid: `revision-${number}`,
      resourceVersion: String(number),
      labels: { "crossplane.io/composition-name": "databases" },
      ownerReferences: [
        {
          apiVersion: "apiextensions.crossplane.io/v1",
          kind: "Composition",
          name: "databases",
          uid: "composition",
          controller: true,
        },
      ],
    },
    spec: { ...(composition["spec"] as JsonObject), revision: number },
  };
}

function compositionOfRevision({ apiVersion, spec }: LiveObject): LiveObject {
  return {
    apiVersion,
    kind: "Composition",
    metadata: { name: "databases", uid: "composition", resourceVersion: "1" },
    spec: spec ?? {},
  };
}

function cacheOf(objects: readonly LiveObject[]): Cache {
  return {
    get: (name) => objects.find(({ metadata }) => metadata.name === name),
    list: () => objects,
    byIndex: () => [],
  };
}
