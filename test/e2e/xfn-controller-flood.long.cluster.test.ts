import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@xfn/json";
import { type ConnectedClient, connect, loadKubeconfig } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryGroup } from "../../packages/runner/testing/memory-group.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";

// `xfn-controller start` in 512 MiB, as in deploy/, with hundreds of MB of a tenant's ConfigMaps. They have the label
// of composed resources, and some of them an owner reference to an XR.

const BYTES = 512 * 1024 * 1024;
const MB = "x".repeat(1024 * 1024);
const FLOOD = 200;

const DEFINITION: JsonObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xnotes.example.org" },
  spec: {
    group: "example.org",
    names: { kind: "XNote", plural: "xnotes" },
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } },
      },
    ],
  },
};

const COMPOSITION: JsonObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "note" },
  spec: {
    compositeTypeRef: { apiVersion: "example.org/v1", kind: "XNote" },
    resources: [
      {
        name: "note",
        base: {
          apiVersion: "v1",
          kind: "ConfigMap",
          data: { is: "small" },
        },
        patches: [
          {
            type: "CombineFromComposite",
            combine: {
              strategy: "string",
              variables: [{ fromFieldPath: "kind" }],
              string: { fmt: "default%.0s" },
            },
            toFieldPath: "metadata.namespace",
          },
        ],
        readinessChecks: [{ type: "None" }],
      },
    ],
  },
};

describe("a controller in 512 MiB with a tenant's large objects", needs("api-server", "cgroup-limits"), () => {
  let server: TestApiServer;
  let client: ConnectedClient;
  let group: MemoryGroup;
  let controller: RunningController | undefined;

  beforeAll(async () => {
    server = await startApiServer();
    client = await connect({
      access: await loadKubeconfig({ path: server.admin.kubeconfig }),
      fieldManager: "tenant",
    });
    await server.kubectl(["create", "namespace", "crossplane-system"]);
    await server.kubectl(["create", "namespace", "tenant"]);
    group = MemoryGroup.create(BYTES);
    controller = await start();
    await server.apply(DEFINITION, COMPOSITION);
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
    await server.apply({ apiVersion: "example.org/v1", kind: "XNote", metadata: { name: "a" }, spec: {} });
    await conditions("a", ({ Ready }) => Ready === "True");
  }, 300_000);
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await group?.[Symbol.asyncDispose]();
    await client?.close();
    await server?.stop();
  });

  const start = (): Promise<RunningController> =>
    startController(server.admin.kubeconfig, { wrap: (command) => group.command(command) });

  /** Waits until the conditions of an XR, as type and status, are as wanted. */
  async function conditions(
    name: string,
    wanted: (statuses: Readonly<Record<string, string>>) => boolean,
  ): Promise<JsonObject[]> {
    for (;;) {
      if ((await Promise.race([controller?.ended, sleep(200, "running")])) !== "running")
        throw new Error(`the controller ended: ${JSON.stringify(controller?.log().slice(-3))}`);
      const xr = await client.get({ apiVersion: "example.org/v1", kind: "XNote", name });
      const all = ((xr["status"] as JsonObject | undefined)?.["conditions"] ?? []) as JsonObject[];
      const statuses = Object.fromEntries(all.map(({ type, status }) => [String(type), String(status)]));
      if (wanted(statuses)) return all;
    }
  }

  async function flood(name: string, owner?: JsonObject, count = FLOOD, large = MB): Promise<void> {
    const names = Array.from({ length: count }, (_, index) => `${name}-${index}`);
    const workers = Array.from({ length: 4 }, async () => {
      for (let next = names.pop(); next !== undefined; next = names.pop())
        await client.create({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            name: next,
            namespace: "tenant",
            labels: { "crossplane.io/composite": "x" },
            ...(owner === undefined ? {} : { ownerReferences: [owner] }),
          },
          data: { large },
        });
    });
    await Promise.all(workers);
  }

  test("survives objects with the label alone, while it watches and when it starts", { timeout: 900_000 }, async () => {
    await flood("label");
    await restart();
    await server.apply({ apiVersion: "example.org/v1", kind: "XNote", metadata: { name: "b" }, spec: {} });
    await conditions("b", ({ Ready }) => Ready === "True");
    expect(await uncached()).toBe(0);
    expect(group.kills()).toBe(0);
  });

  test("survives objects that name a real XR as their controller, and says that its cache is full", {
    timeout: 900_000,
  }, async () => {
    const xr = await client.get({ apiVersion: "example.org/v1", kind: "XNote", name: "a" });
    const { uid } = xr.metadata;
    const owner = { apiVersion: "example.org/v1", kind: "XNote", name: "a", uid, controller: true };
    await flood("owned", owner);
    await restart();
    expect(await uncached()).toBeGreaterThan(0);
    // Its small object fits in addition to the large ones. These take the rest of the space.
    await flood("rest", owner, 20, MB.slice(0, MB.length / 10));
    const { items } = await client.list(await client.kind("v1", "ConfigMap"), {
      labelSelector: "crossplane.io/composite=a",
      metadataOnly: true,
    });
    const [own] = items;
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: own?.metadata.name ?? "", namespace: "default" };
    await client.patch(reference, "merge", { data: { grown: MB.slice(0, MB.length / 2) } });
    const all = await conditions("a", ({ Cached, Synced }) => Cached === "False" && Synced === "True");
    expect(all).toContainEqual(expect.objectContaining({ type: "Cached", reason: "CacheFull" }));
    expect(group.kills()).toBe(0);
  });

  async function restart(): Promise<void> {
    await controller?.end("SIGTERM");
    controller = await start();
    await conditions("a", ({ Ready }) => Ready === "True");
    // A watch begins once the cache has the list.
    const watches = 'xfn_controller_api_requests_total{verb="watch",resource="configmaps",status="200"}';
    await expect.poll(() => metric(watches), { timeout: 300_000 }).toBeGreaterThan(0);
  }

  const uncached = (): Promise<number> => metric("xfn_controller_uncached_objects");

  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`${controller?.http}/metrics`)).text();
    const line = text.split("\n").find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length));
  }
});
