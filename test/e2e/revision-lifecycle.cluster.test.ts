import { revisionReconciler } from "@xfn/controller";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { conditionsOf } from "../harness/conditions.ts";
import { type DefinitionWorld, definitionWorld, messageOf } from "../harness/definitions.ts";
import { type CrashPoint, faultyClient } from "../harness/faulty-client.ts";
import { needs } from "../harness/needs.ts";

const API = "apiextensions.crossplane.io/v1";
const BASE = { apiVersion: "v1", kind: "ConfigMap" };

const composition = (name: string, data = "1", labels: Record<string, string> = {}): KubernetesObject => ({
  apiVersion: API,
  kind: "Composition",
  metadata: { name, labels },
  spec: {
    compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" },
    resources: [{ name: "a", base: { ...BASE, data: { a: data } } }],
  },
});

describe("a composition", needs("api-server"), () => {
  let server: TestApiServer;
  let world: DefinitionWorld;
  let reconcile: ReturnType<typeof revisionReconciler>;

  beforeAll(async () => {
    server = await startApiServer();
    world = await definitionWorld(server);
  });
  beforeEach(() => {
    reconcile = revisionReconciler(world.context);
    world.events.length = 0;
    world.writes();
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });

  const apply = (object: KubernetesObject): Promise<LiveObject> => world.client.apply(object);
  const settle = (name: string): Promise<unknown> => world.settle(reconcile, name);
  const revisions = async (name: string): Promise<LiveObject[]> => {
    const kind = await world.client.kind(API, "CompositionRevision");
    const { items } = await world.client.list(kind, { labelSelector: `crossplane.io/composition-name=${name}` });
    return items.toSorted((a, b) => numberOf(a) - numberOf(b));
  };

  test("gets a revision with its content and labels, which it owns, and writes nothing after that", async () => {
    const { metadata } = await apply(composition("plain", "1", { channel: "stable" }));
    await settle("plain");
    const [revision, ...more] = await revisions("plain");
    expect(more).toEqual([]);
    expect(revision?.metadata.name).toMatch(/^plain-[0-9a-f]{7}$/);
    expect(revision?.metadata.labels).toMatchObject({ channel: "stable", "crossplane.io/composition-name": "plain" });
    expect(revision?.metadata["ownerReferences"]).toMatchObject([
      { kind: "Composition", uid: metadata.uid, controller: true },
    ]);
    expect(revision?.["spec"]).toEqual({ ...(composition("plain")["spec"] as JsonObject), revision: 1 });
    expect(conditionsOf(await world.find(API, "Composition", "plain"))).toEqual({ Synced: "True ReconcileSuccess" });
    world.writes();
    await settle("plain");
    expect(world.writes()).toEqual([]);
  });

  test("gets another revision when it changes, and the earlier one with a new number when it changes back", async () => {
    await apply(composition("back", "1"));
    await settle("back");
    const first = (await revisions("back"))[0];
    await apply(composition("back", "2"));
    await settle("back");
    expect((await revisions("back")).map(numberOf)).toEqual([1, 2]);
    await apply(composition("back", "1"));
    await settle("back");
    const [second, again] = await revisions("back");
    expect([second, again].map((one) => one && numberOf(one))).toEqual([2, 3]);
    expect(again?.metadata.uid).toBe(first?.metadata.uid);
    world.writes();
    await settle("back");
    expect(world.writes()).toEqual([]);
  });

  test("gets another revision with other labels, but not with other annotations", async () => {
    await apply(composition("labels", "1", { channel: "alpha" }));
    await settle("labels");
    await world.client.patch({ apiVersion: API, kind: "Composition", name: "labels" }, "merge", {
      metadata: { annotations: { "example.org/note": "x" } },
    });
    await settle("labels");
    expect(await revisions("labels")).toHaveLength(1);
    await apply(composition("labels", "1", { channel: "stable" }));
    await settle("labels");
    expect((await revisions("labels")).map(({ metadata }) => metadata.labels?.["channel"])).toEqual([
      "alpha",
      "stable",
    ]);
  });

  test("with errors that no schema finds gets no revision until it is fixed, and reports the field", async () => {
    await apply(composition("wrong"));
    await settle("wrong");
    const wrong = composition("wrong");
    const patches = [
      { fromFieldPath: "a", transforms: [{ type: "string", string: { type: "Regexp", regexp: { match: "(" } } }] },
    ];
    await apply({
      ...wrong,
      spec: { ...(wrong["spec"] as JsonObject), resources: [{ name: "a", base: BASE, patches }] },
    });
    await settle("wrong");
    expect(await revisions("wrong")).toHaveLength(1);
    const object = await world.find(API, "Composition", "wrong");
    expect(conditionsOf(object)).toEqual({ Synced: "False InvalidComposition" });
    const field = "spec.resources[0].patches[0].transforms[0].string.regexp.match";
    expect(messageOf(object, "Synced")).toContain(field);
    expect(world.events.at(-1)).toMatchObject({ type: "Warning", reason: "InvalidComposition" });
    world.writes();
    await settle("wrong");
    expect(world.writes()).toEqual([]);
    await apply(composition("wrong", "2"));
    await settle("wrong");
    expect(await revisions("wrong")).toHaveLength(2);
    expect(conditionsOf(await world.find(API, "Composition", "wrong"))).toEqual({ Synced: "True ReconcileSuccess" });
  });

  test("whose revision the server refuses reports it, and recovers when the server accepts it", async () => {
    let refuses = true;
    const other = await definitionWorld(server, {
      wrap: (client) => ({
        ...client,
        create: (object, options) =>
          refuses && object.kind === "CompositionRevision"
            ? Promise.reject(new ApiError("Forbidden", "compositionrevisions is forbidden", { status: 403 }))
            : client.create(object, options),
      }),
    });
    const reconcileOther = revisionReconciler(other.context);
    await apply(composition("refused"));
    for (let looks = 0; looks < 2; looks++)
      await expect(other.look(reconcileOther, "refused")).rejects.toThrow("forbidden");
    const object = await world.find(API, "Composition", "refused");
    expect(conditionsOf(object)).toEqual({ Synced: "False CannotKeepRevision" });
    expect(messageOf(object, "Synced")).toContain("compositionrevisions is forbidden");
    expect(other.events).toMatchObject([{ type: "Warning", reason: "CannotKeepRevision" }]);
    refuses = false;
    await other.settle(reconcileOther, "refused");
    expect(conditionsOf(await world.find(API, "Composition", "refused"))).toEqual({ Synced: "True ReconcileSuccess" });
    expect(await revisions("refused")).toHaveLength(1);
    await other.stop();
  });

  test("in the form of the original proposal has revisions too", async () => {
    await server.apply({
      apiVersion: "apiextensions.crossplane.io/v1alpha1",
      kind: "Composition",
      metadata: { name: "seed" },
      spec: { from: { apiVersion: "example.org/v1", kind: "XThing" }, to: [{ base: BASE }] },
    });
    await settle("seed");
    expect((await revisions("seed"))[0]?.["spec"]).toMatchObject({
      compositeTypeRef: { kind: "XThing" },
      resources: [{ base: BASE }],
    });
  });

  test("with a name longer than a label value has revisions too", async () => {
    const name = `long-${"a".repeat(200)}`;
    await apply(composition(name));
    await settle(name);
    await apply(composition(name, "2"));
    await settle(name);
    const kind = await world.client.kind(API, "CompositionRevision");
    const { items } = await world.client.list(kind);
    const own = items.filter(({ metadata }) => metadata.name.startsWith("long-"));
    expect(own.map(numberOf).toSorted()).toEqual([1, 2]);
  });

  test("leaves another owner's revision of the name alone, and uses another name", async () => {
    const object = composition("taken");
    await apply(object);
    await settle("taken");
    const [own] = await revisions("taken");
    const kind = { apiVersion: API, kind: "CompositionRevision" };
    await world.client.delete({ ...kind, name: own?.metadata.name ?? "" });
    const foreign = await world.client.create({
      ...kind,
      metadata: { name: own?.metadata.name ?? "" },
      spec: { ...(object["spec"] as JsonObject), undesiredResources: "Delete", revision: 7 },
    });
    await settle("taken");
    const [now, ...more] = await revisions("taken");
    expect(more).toEqual([]);
    expect(now?.metadata.name).toMatch(/^taken-[0-9a-f]{16}$/);
    const after = await world.find(kind.apiVersion, kind.kind, foreign.metadata.name);
    expect(after?.metadata.resourceVersion).toBe(foreign.metadata.resourceVersion);
  });

  test("adopts the revision that an earlier Composition of its name left, if the content is the same", async () => {
    await apply(composition("heir"));
    await settle("heir");
    const [left] = await revisions("heir");
    await world.client.delete({ apiVersion: API, kind: "Composition", name: "heir" }, { propagationPolicy: "Orphan" });
    await server.restartControllerManager();
    while ((await world.find(API, "Composition", "heir")) !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { metadata } = await apply(composition("heir"));
    await settle("heir");
    const [kept, ...more] = await revisions("heir");
    expect(more).toEqual([]);
    expect(kept?.metadata.uid).toBe(left?.metadata.uid);
    expect(kept?.metadata["ownerReferences"]).toMatchObject([{ uid: metadata.uid, controller: true }]);
    world.writes();
    await settle("heir");
    expect(world.writes()).toEqual([]);
  });

  test.each<CrashPoint>(["before", "after-commit", "after-reply"])(
    "has the same revisions wherever its controller crashed %s a write",
    async (point) => {
      const name = `crash-${point}`;
      for (const data of ["1", "2", "1"]) {
        await apply(composition(name, data));
        for (let write = 1; write <= 2; write++) {
          const faulty = faultyClient(world.context.client, ({ number }) =>
            number === write ? { kind: "crash", point } : undefined,
          );
          const crashing = revisionReconciler({ ...world.context, client: faulty.client });
          await Promise.race([crashing(name, AbortSignal.timeout(10_000)), faulty.crashed]);
          await faulty.drained();
        }
        await settle(name);
      }
      expect((await revisions(name)).map(numberOf)).toEqual([2, 3]);
    },
  );
});

function numberOf(revision: LiveObject): number {
  return (revision["spec"] as { revision: number }).revision;
}
