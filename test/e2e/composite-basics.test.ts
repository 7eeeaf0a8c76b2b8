import type { JsonObject } from "@xfn/functionio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type CompositeWorld, compositeWorld, installKinds } from "../harness/composites.ts";
import { needs } from "../harness/needs.ts";

// One XR at a time, driven by hand, on a real API server: what is sent, and what is there afterwards.

const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };

const template = (name: string, spec: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  name,
  base: { ...WIDGET, spec: { size: 1, ports: [{ port: 80 }], ...spec } },
  ...more,
});

describe("a composite resource", needs("api-server"), () => {
  let server: TestApiServer;
  let world: CompositeWorld;

  beforeAll(async () => {
    server = await startApiServer();
    await installKinds(server);
    world = await compositeWorld(server);
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });

  const widgets = async (xr: string): Promise<JsonObject[]> => {
    const { items } = await world.client.list(await world.client.kind(WIDGET.apiVersion, WIDGET.kind), {
      labelSelector: `crossplane.io/composite=${xr}`,
    });
    return [...items];
  };
  const makeReady = async (name: string): Promise<void> => {
    await world.client.patch(
      { ...WIDGET, name },
      "merge",
      { status: { conditions: [{ type: "Ready", status: "True" }] } },
      { subresource: "status" },
    );
  };
  const conditions = async (name: string): Promise<Record<string, string>> => {
    const { status } = await world.xr(name);
    const list = ((status as JsonObject)["conditions"] ?? []) as JsonObject[];
    return Object.fromEntries(list.map((one) => [one["type"], `${one["status"]} ${one["reason"]}`]));
  };

  test("of three resources needs five requests until they exist, one more when they are ready, and none after", async () => {
    world.compose({ resources: [template("a"), template("b"), template("c")] });
    await world.create("three");
    await world.reconcile("three");
    expect(world.requests()).toEqual([
      "apply xdatabases.example.org",
      "apply widgets.things.example.org",
      "apply widgets.things.example.org",
      "apply widgets.things.example.org",
      "apply xdatabases.example.org",
    ]);
    expect(await conditions("three")).toEqual({ Synced: "True ReconcileSuccess", Ready: "False Creating" });
    const made = await widgets("three");
    expect(made).toHaveLength(3);
    const { spec, metadata } = await world.xr("three");
    expect(metadata["finalizers"]).toEqual(["composite.apiextensions.crossplane.io"]);
    expect((spec as JsonObject)["resourceRefs"]).toHaveLength(3);
    expect(spec).toMatchObject({ compositionRef: { name: "databases" }, compositionUpdatePolicy: "Automatic" });

    await world.reconcile("three");
    expect(world.requests()).toEqual([]);
    for (const { metadata } of made as { metadata: { name: string } }[]) await makeReady(metadata.name);
    const outcome = await world.reconcile("three");
    expect(world.requests()).toEqual(["apply xdatabases.example.org"]);
    expect(await conditions("three")).toEqual({ Synced: "True ReconcileSuccess", Ready: "True Available" });
    expect(outcome?.requeueAfterMs).toBeGreaterThan(50_000);

    await world.reconcile("three");
    expect(world.requests()).toEqual([]);
    world.restart();
    await world.reconcile("three");
    expect(world.requests()).toEqual([]);
  });
});
