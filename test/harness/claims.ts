import { documentOf } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { claimReconciler, definitionReconciler, type ReconcilerOptions } from "@xfn/controller";
import { isObject, type JsonObject } from "@xfn/json";
import type { LiveObject, Outcome, Reconcile } from "@xfn/kubernetes";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { startApiServer, type TestApiServer } from "./api-server.ts";
import { type DefinitionWorld, definitionWorld, thingDefinition } from "./definitions.ts";

/**
 * Claims `Thing` of composites `XThing`. Tests reconcile the claims by hand; no controller reconciles the composites.
 */
export interface ClaimWorld extends DefinitionWorld {
  /** Creates a claim in the namespace default. */
  createClaim(name: string, spec?: JsonObject, metadata?: JsonObject): Promise<LiveObject>;
  /** Reconciles until no immediate requeue remains. */
  reconcileClaim(name: string): Promise<Outcome | undefined>;
  /** Reconciles once. */
  lookAt(name: string): Promise<Outcome | undefined>;
  claim(name: string): Promise<LiveObject | undefined>;
  /** Returns the composite that a claim is bound to. */
  compositeOf(name: string): Promise<LiveObject | undefined>;
  composite(name: string): Promise<LiveObject | undefined>;
  /** Returns the composites whose claim reference names this claim. */
  compositesOf(name: string): Promise<LiveObject[]>;
  patchClaim(name: string, body: JsonObject): Promise<LiveObject>;
  patchComposite(name: string, body: JsonObject): Promise<LiveObject>;
  setStatus(composite: string, status: JsonObject): Promise<LiveObject>;
  /** @param claimableBy - whose claims may be bound to it. Default: those of the claims' namespace */
  createComposite(name: string, spec?: JsonObject, claimableBy?: string): Promise<LiveObject>;
  deleteClaim(name: string): Promise<unknown>;
  reconciler(context?: Partial<ReconcilerOptions>): Reconcile;
}

/**
 * Starts an API server with a world for the tests of a `describe`.
 *
 * @param use receives the world before the first test
 * @param definition further fields of the definition's spec
 */
export function provideClaimWorld(use: (world: ClaimWorld) => void, definition: JsonObject = {}): void {
  let server: TestApiServer;
  let world: ClaimWorld;
  beforeAll(async () => {
    server = await startApiServer();
    world = await claimWorld(server, definition);
    use(world);
  });
  beforeEach(() => {
    world.events.length = 0;
    world.writes();
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });
}

export const API = "example.org/v1";

async function claimWorld(server: TestApiServer, definition: JsonObject = {}): Promise<ClaimWorld> {
  const world = await definitionWorld(server);
  const { client } = world;
  const object = thingDefinition(definition);
  await client.create(object);
  await world.settle(definitionReconciler(world.context), "xthings.example.org");
  const parsed = parseDefinition(documentOf(object));
  const reconciler = (context: Partial<ReconcilerOptions> = {}): Reconcile =>
    claimReconciler({ ...world.context, ...context }, parsed);
  const reconcile = reconciler();
  const claimNamed = (name: string) => ({ apiVersion: API, kind: "Thing", name, namespace: "default" });
  const compositeNamed = (name: string) => ({ apiVersion: API, kind: "XThing", name });
  const claim = (name: string): Promise<LiveObject | undefined> => world.find(API, "Thing", name, "default");
  const composite = (name: string): Promise<LiveObject | undefined> => world.find(API, "XThing", name);
  return {
    ...world,
    reconciler,
    claim,
    composite,
    createClaim: (name, spec = {}, metadata = {}) =>
      client.create({ apiVersion: API, kind: "Thing", metadata: { ...metadata, name, namespace: "default" }, spec }),
    reconcileClaim: (name) => world.settle(reconcile, `default/${name}`),
    lookAt: (name) => world.look(reconcile, `default/${name}`),
    async compositeOf(name) {
      const reference = at(await claim(name), "spec", "resourceRef");
      return typeof reference["name"] === "string" ? composite(reference["name"]) : undefined;
    },
    async compositesOf(name) {
      const { items } = await client.list(await client.kind(API, "XThing"));
      return items.filter((one) => at(one, "spec", "claimRef")["name"] === name);
    },
    patchClaim: (name, body) => client.patch(claimNamed(name), "merge", body),
    patchComposite: (name, body) => client.patch(compositeNamed(name), "merge", body),
    createComposite: (name, spec = {}, claimableBy = "default") => {
      const metadata = { name, annotations: { "apiextensions.crossplane.io/claimable-by": claimableBy } };
      return client.create({ apiVersion: API, kind: "XThing", metadata, spec });
    },
    deleteClaim: (name) => client.delete(claimNamed(name)),
    setStatus: (name, status) => client.patch(compositeNamed(name), "merge", { status }, { subresource: "status" }),
  };
}

/** The name of an object, or "". */
export function nameOf(object: LiveObject | undefined): string {
  return object?.metadata.name ?? "";
}

/** Returns a nested object, or an empty one. */
export function at(object: JsonObject | undefined, ...path: readonly string[]): JsonObject {
  let value: unknown = object;
  for (const step of path) value = isObject(value) ? value[step] : undefined;
  return isObject(value) ? value : {};
}

/** The status of a composite that is ready. */
export function ready(more: JsonObject = {}): JsonObject {
  const time = { lastTransitionTime: "2026-01-01T00:00:00Z" };
  return { ...more, conditions: [{ type: "Ready", status: "True", reason: "Available", ...time }] };
}
