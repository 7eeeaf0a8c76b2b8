import { controllerCrds, definitionReconciler, installCrds, type ReconcilerOptions } from "@xfn/controller";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import {
  type Cache,
  type Client,
  type ConnectedClient,
  connect,
  isApiError,
  type LiveObject,
  loadKubeconfig,
  type Outcome,
  type Reconcile,
  type RequestOutcome,
  type ResourceKind,
} from "@xfn/kubernetes";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { startApiServer, type TestApiServer } from "./api-server.ts";
import type { RecordedEvent } from "./composites.ts";

/** Reconcilers on a real API server. Tests start each reconcile. Only {@link DefinitionWorld.cache} adds caches. */
export interface DefinitionWorld {
  /** The client of a user, whose requests are not counted. */
  readonly client: ConnectedClient;
  readonly context: ReconcilerOptions;
  readonly events: RecordedEvent[];
  /** Writes of the reconcilers since the last call, such as `patch things`. */
  writes(): string[];
  /** All requests of the reconcilers since the last call. */
  requests(): string[];
  /** Makes the reconcilers read a kind from this copy. */
  cache(kind: ResourceKind, objects: readonly LiveObject[] | undefined): void;
  /** Reconciles once; a conflict with another writer requeues. */
  look(reconcile: Reconcile, key: string): Promise<Outcome | undefined>;
  /** Reconciles until no immediate requeue remains. */
  settle(reconcile: Reconcile, key: string): Promise<Outcome | undefined>;
  find(apiVersion: string, kind: string, name: string, namespace?: string): Promise<LiveObject | undefined>;
  stop(): Promise<void>;
}

const READS: ReadonlySet<string> = new Set(["get", "list", "watch", "discover"]);

/** Installs the CRDs of the controller's own kinds. */
export async function definitionWorld(
  server: TestApiServer,
  overrides: Partial<ReconcilerOptions> & { readonly wrap?: (client: Client) => Client } = {},
): Promise<DefinitionWorld> {
  const access = await loadKubeconfig({ path: server.admin.kubeconfig });
  const sent: RequestOutcome[] = [];
  const client = await connect({ access, fieldManager: "test", onRequest: (outcome) => sent.push(outcome) });
  const user = await connect({ access, fieldManager: "user" });
  await installCrds(user);
  await installCrds(client);
  const events: RecordedEvent[] = [];
  const caches = new Map<string, Cache>();
  const { wrap = (inner) => inner, ...rest } = overrides;
  const silent = (): void => {};
  const context: ReconcilerOptions = {
    client: wrap(client),
    informers: {
      acquire: () => {
        throw new Error("no reconciler begins a watch");
      },
      peek: ({ group, plural }) => caches.get(`${plural}.${group}`),
      stop: async () => {},
    },
    events: {
      record: ({ kind, metadata }, event) => void events.push({ about: `${kind} ${metadata?.name}`, ...event }),
      flush: async () => {},
    },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: Date.now,
    ...rest,
  };
  const requests = (): string[] =>
    sent
      .splice(0)
      .filter(({ verb }) => verb !== "discover")
      .map(({ verb, resource }) => `${verb} ${resource}`);
  const look: DefinitionWorld["look"] = async (reconcile, key) => {
    try {
      return await reconcile(key, AbortSignal.timeout(30_000));
    } catch (error) {
      if (isApiError(error, "Conflict")) return { requeueAfterMs: 1 };
      throw error;
    }
  };
  return {
    client: user,
    look,
    context,
    events,
    requests,
    writes: () => requests().filter((one) => !READS.has(one.slice(0, one.indexOf(" ")))),
    cache({ group, plural }, objects) {
      if (objects === undefined) caches.delete(`${plural}.${group}`);
      else caches.set(`${plural}.${group}`, cacheOf(objects));
    },
    async settle(reconcile, key) {
      for (let count = 0; count < 200; count++) {
        const outcome = await look(reconcile, key);
        const wait = outcome?.requeueAfterMs;
        if (wait === undefined || wait > 1_000) return outcome;
        await new Promise((resolve) => setTimeout(resolve, Math.min(wait, 50)));
      }
      throw new Error(`${key} does not settle`);
    },
    async find(apiVersion, kind, name, namespace) {
      try {
        return await user.get({ apiVersion, kind, name, namespace });
      } catch (error) {
        if (isApiError(error, "NotFound", "KindNotServed")) return undefined;
        throw error;
      }
    },
    async stop() {
      await Promise.all([client.close(), user.close()]);
    },
  };
}

function cacheOf(objects: readonly LiveObject[]): Cache {
  return {
    get: (name, namespace) =>
      objects.find(({ metadata }) => metadata.name === name && (metadata.namespace ?? "") === (namespace ?? "")),
    list: (namespace) => objects.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
    byIndex: () => [],
  };
}

/** Shared by the tests of definitions. */
export interface DefinitionTools {
  readonly server: TestApiServer;
  readonly world: DefinitionWorld;
  /** A reconciler without memory. */
  readonly reconcile: Reconcile;
  create(object: KubernetesObject): Promise<LiveObject>;
  settle(name: string): Promise<Outcome | undefined>;
  definition(name: string): Promise<LiveObject | undefined>;
  crd(name: string): Promise<LiveObject | undefined>;
  remove(name: string, propagationPolicy?: "Foreground" | "Orphan"): Promise<unknown>;
}

/** Starts an API server for the tests of a `describe`. @param use receives the tools before each test */
export function provideDefinitionTools(use: (tools: DefinitionTools) => void): void {
  const [apiVersion, kind] = ["apiextensions.crossplane.io/v1", "CompositeResourceDefinition"];
  let server: TestApiServer;
  let world: DefinitionWorld;
  beforeAll(async () => {
    server = await startApiServer({ users: ["ada"] });
    world = await definitionWorld(server);
  });
  beforeEach(() => {
    const { client } = world;
    const reconcile = definitionReconciler(world.context);
    world.events.length = 0;
    world.writes();
    use({
      server,
      world,
      reconcile,
      create: (object) => client.create(object),
      settle: (name) => world.settle(reconcile, name),
      definition: (name) => world.find(apiVersion, kind, name),
      crd: (name) => world.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", name),
      remove: (name, propagationPolicy) => client.delete({ apiVersion, kind, name }, { propagationPolicy }),
    });
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });
}

/** A definition of example.org: `XThing`, by default with claims `Thing`. */
export function thingDefinition(spec: JsonObject = {}, name = "thing"): KubernetesObject & { spec: JsonObject } {
  const kind = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositeResourceDefinition",
    metadata: { name: `x${name}s.example.org` },
    spec: {
      group: "example.org",
      names: { kind: `X${kind}`, plural: `x${name}s` },
      claimNames: { kind, plural: `${name}s` },
      versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: THING_SCHEMA } }],
      ...spec,
    },
  };
}

const THING_SCHEMA: JsonObject = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      // Allow any field: the controller, not the schema, must reject fields that a claim cannot set.
      "x-kubernetes-preserve-unknown-fields": true,
      properties: {
        size: { type: "integer", default: 1 },
        region: { type: "string" },
        address: { type: "string" },
        options: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
      },
    },
    status: { type: "object", properties: { address: { type: "string" }, count: { type: "integer" } } },
  },
};

/** Returns the message of a condition, or "". */
export function messageOf(object: LiveObject | undefined, type: string): string {
  const { conditions = [] } = (object?.["status"] ?? {}) as { conditions?: JsonObject[] };
  return String(conditions.find((one) => one["type"] === type)?.["message"] ?? "");
}

/** The names of the controller's own CRDs. */
export const OWN_CRDS: readonly string[] = controllerCrds().map(({ metadata }) => metadata?.name ?? "");
