import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import {
  type ConnectedClient,
  type ConnectOptions,
  connect,
  electLeader,
  isApiError,
  type LiveObject,
  loadKubeconfig,
  type ResourceKind,
  recordEvents,
  startInformers,
} from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { fencedBlocks } from "../harness/fenced-blocks.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

const GADGET = { apiVersion: "test.example.org/v1", kind: "Gadget" };
const CONFIG_MAP: ResourceKind = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};
// Longer than a restart of the server takes on a busy machine.
const LONG = { timeout: 30_000 };

const CRD: KubernetesObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gadgets.test.example.org" },
  spec: {
    group: "test.example.org",
    scope: "Namespaced",
    names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                "x-kubernetes-preserve-unknown-fields": true,
                properties: { size: { type: "integer", format: "int64" } },
              },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
  },
};

describe("a client of a real API server", needs("api-server"), () => {
  let server: TestApiServer;
  const clients: ConnectedClient[] = [];
  const clientOf = async (user = "admin", options: Partial<ConnectOptions> = {}): Promise<ConnectedClient> => {
    const { kubeconfig } = user === "admin" ? server.admin : server.user(user);
    const access = await loadKubeconfig({ path: kubeconfig });
    const client = await connect({ access, fieldManager: "e2e", ...options });
    clients.push(client);
    return client;
  };
  let client: ConnectedClient;
  let folder: string;
  beforeAll(async () => {
    folder = temporaryFolder();
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    symlinkSync(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
    server = await startApiServer({ users: ["nobody"] });
    client = await clientOf();
  });
  afterAll(async () => {
    for (const one of clients) await one.close();
    await server.stop();
  });

  /** Starts an unchanged example of the README in a separate folder. */
  const runExample = (name: string): { child: ChildProcess; output: () => string } => {
    const readme = readFileSync(join(CHECKOUT, "packages/kubernetes/README.md"), "utf8");
    writeFileSync(join(folder, name), fencedBlocks(readme).find(({ rest }) => rest === name)?.text ?? "");
    const child = spawn(process.execPath, [name], {
      cwd: folder,
      env: { PATH: process.env["PATH"], KUBECONFIG: server.admin.kubeconfig },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    return { child, output: () => text };
  };

  const gadget = (name: string, spec: JsonObject, more: JsonObject = {}): KubernetesObject => ({
    ...GADGET,
    metadata: { name, namespace: "default", ...more },
    spec,
  });

  test("a client finds a new kind, even if it asked before the CRD was created", async () => {
    await expect(client.kind(GADGET.apiVersion, GADGET.kind)).rejects.toMatchObject({ code: "KindNotServed" });
    await client.apply(CRD);
    await expect
      .poll(() => client.kind(GADGET.apiVersion, GADGET.kind).catch((error: unknown) => error), LONG)
      .toEqual({ group: "test.example.org", version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true });
  });

  test("an object keeps unknown fields and 64-bit integers", async () => {
    const spec = { size: 9007199254740993n, unknown: { deep: [1, "two", null, { three: 3.5 }] } };
    const created = await client.create(gadget("exact", spec));
    expect(created["spec"]).toEqual(spec);
    expect((await client.get({ ...GADGET, name: "exact", namespace: "default" }))["spec"]).toEqual(spec);
    const status = { big: 9223372036854775807n };
    const updated = await client.update({ ...created, status }, { subresource: "status" });
    expect(updated["status"]).toEqual(status);
  });

  test("an apply removes fields that it no longer contains, and keeps those of other managers", async () => {
    await client.apply(gadget("applied", { a: 1, b: 2 }), { fieldManager: "one" });
    await client.apply(gadget("applied", { c: 3 }), { fieldManager: "two" });
    const after = await client.apply(gadget("applied", { a: 1 }), { fieldManager: "one" });
    expect(after["spec"]).toEqual({ a: 1, c: 3 });
    await expect(
      client.apply(gadget("applied", { c: 4 }), { fieldManager: "one", force: false }),
    ).rejects.toMatchObject({ code: "Conflict", causes: [{ field: ".spec.c" }] });
    const reference = { ...GADGET, name: "applied", namespace: "default" };
    expect((await client.patch(reference, "merge", { spec: { c: null } }))["spec"]).toEqual({ a: 1 });
    const json = [{ op: "add", path: "/spec/d", value: 4 }];
    expect((await client.patch(reference, "json", json, { dryRun: true }))["spec"]).toEqual({ a: 1, d: 4 });
    expect((await client.get(reference))["spec"]).toEqual({ a: 1 });
  });

  test("errors have the documented codes", async () => {
    const reference = { ...GADGET, name: "errors", namespace: "default" };
    const live = await client.create(gadget("errors", {}));
    const changed = await client.update({ ...live, spec: { a: 1 } });
    expect(await codeOf(client.create(gadget("errors", {})))).toBe("AlreadyExists");
    expect(await codeOf(client.update({ ...live, spec: { a: 2 } }))).toBe("Conflict");
    expect(await codeOf(client.delete(reference, { preconditions: { uid: "another" } }))).toBe("Conflict");
    expect(await codeOf(client.get({ ...reference, name: "none" }))).toBe("NotFound");
    expect(await codeOf(client.apply({ ...gadget("x", {}), metadata: { name: "x", namespace: "none" } }))).toBe(
      "NotFound",
    );
    expect(await codeOf(client.create(gadget("errors-2", { size: "no number" })))).toBe("Invalid");
    // An unknown field of a built-in kind.
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", namespace: "default" }, dota: {} };
    expect(await codeOf(client.apply(map))).toBe("Invalid");
    expect(await codeOf(client.get({ apiVersion: "v1", kind: "Nothing", name: "x" }))).toBe("KindNotServed");
    const nobody = await clientOf("nobody");
    expect(await codeOf(nobody.list(CONFIG_MAP))).toBe("Forbidden");
    const access = await loadKubeconfig({ path: server.admin.kubeconfig });
    const unauthorized = await clientOf("admin", {
      access: { ...access, headers: () => ({ authorization: "Bearer wrong" }) },
    });
    expect(await codeOf(unauthorized.list(CONFIG_MAP))).toBe("Unauthorized");
    const { uid, resourceVersion } = changed.metadata;
    expect(await client.delete(reference, { preconditions: { uid, resourceVersion } })).toBeUndefined();
  });

  test("an unknown field is dropped, or rejected with Strict and in each apply", async () => {
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "unknown", namespace: "default" }, other: 1 };
    expect(await codeOf(client.create(map, { fieldValidation: "Strict" }))).toBe("Invalid");
    expect(await codeOf(client.apply(map))).toBe("Invalid");
    expect(await client.create(map)).not.toHaveProperty("other");
  });

  test("deleting an object with a finalizer returns the object", async () => {
    await client.create(gadget("finalized", {}, { finalizers: ["example.org/test"] }));
    const reference = { ...GADGET, name: "finalized", namespace: "default" };
    const remaining = await client.delete(reference);
    expect(remaining?.metadata["deletionTimestamp"]).toEqual(expect.any(String));
    await client.patch(reference, "merge", { metadata: { finalizers: null } });
    await expect(client.get(reference)).rejects.toMatchObject({ code: "NotFound" });
  });

  test("a list contains all pages of the selected objects", async () => {
    const names = Array.from({ length: 25 }, (_, at) => `listed-${String(at).padStart(2, "0")}`);
    const labels = { list: "yes" };
    await Promise.all(names.map((name) => client.apply(gadget(name, {}, { labels }))));
    const kind = await client.kind(GADGET.apiVersion, GADGET.kind);
    const { items, resourceVersion } = await client.list(kind, { labelSelector: "list=yes", pageSize: 10 });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(items[0]).toMatchObject(GADGET);
    expect(Number(resourceVersion)).toBeGreaterThan(0);
  });

  test("requests and watches work over HTTP/1.1 without TLS, through kubectl proxy", async () => {
    const proxy = spawn(server.binaries.kubectl, ["--kubeconfig", server.admin.kubeconfig, "proxy", "--port=0"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [line] = (await once(createInterface(proxy.stdout), "line")) as [string];
      const plain = await clientOf("admin", {
        access: {
          server: `http://${/127\.0\.0\.1:\d+/.exec(line)?.[0]}`,
          headers: () => ({}),
          refresh: async () => false,
          tls: async () => ({}),
        },
      });
      const { resourceVersion } = await plain.list(CONFIG_MAP);
      const stop = new AbortController();
      const watch = plain.watch(CONFIG_MAP, { resourceVersion, signal: stop.signal })[Symbol.asyncIterator]();
      const first = watch.next();
      const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "proxied", namespace: "default" } };
      await plain.apply(map);
      expect(await first).toMatchObject({ value: { type: "ADDED", object: map } });
      stop.abort();
    } finally {
      proxy.kill();
      await once(proxy, "exit");
    }
  });

  test("the second candidate leads when the first leader releases the lease", async () => {
    const candidate = (identity: string) =>
      electLeader({ client, namespace: "default", name: "election", identity, leaseMs: 9_000 });
    const first = await candidate("first");
    const second = candidate("second");
    const reference = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace: "default", name: "election" };
    // Wait for a renewal.
    await expect
      .poll(async () => Number((await client.get(reference)).metadata["resourceVersion"]), LONG)
      .toBeGreaterThan(Number((await client.get(reference)).metadata["resourceVersion"]));
    expect((await client.get(reference))["spec"]).toMatchObject({ holderIdentity: "first" });
    await first.release();
    const lease = await second;
    expect((await client.get(reference))["spec"]).toMatchObject({ holderIdentity: "second", leaseTransitions: 1 });
    await lease.release();
  });

  test("kubectl describe shows events with their counts", async () => {
    const object = await client.apply(gadget("eventful", {}));
    const events = recordEvents(client, "e2e-recorder", { onDrop: (reason) => expect.unreachable(reason) });
    for (let at = 0; at < 3; at++) events.record(object, { type: "Warning", reason: "Tried", message: "it was tried" });
    await events.flush();
    events.record(object, { type: "Warning", reason: "Tried", message: "it was tried" });
    await events.flush();
    const text = await server.kubectl(["describe", "gadget", "eventful"]);
    expect(text).toMatch(/Warning\s+Tried\s.*\(x4 over .*\)\s+e2e-recorder\s+it was tried/);
  });

  test("the README's client runs unchanged", async () => {
    const { child, output } = runExample("apply.ts");
    await once(child, "close");
    expect(output()).toBe("greeting [Object: null prototype] { text: 'hello' }\ngone\n");
  });

  test("the README's controller works, and stops on SIGTERM", async () => {
    const { child, output } = runExample("controller.ts");
    const closed = once(child, "close");
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "original", namespace: "default" } };
    await client.apply({ ...map, metadata: { ...map.metadata, labels: { copy: "yes" } }, data: { a: "b" } });
    const copy = { apiVersion: "v1", kind: "ConfigMap", name: "original-copy", namespace: "default" };
    const dataOf = async (): Promise<unknown> => (await client.get(copy).catch(() => undefined))?.["data"];
    await expect.poll(dataOf, LONG).toEqual({ a: "b" });
    await client.patch({ ...copy, name: "original" }, "merge", { data: { a: "c" } });
    await expect.poll(dataOf, LONG).toEqual({ a: "c" });
    child.kill();
    await closed;
    expect(output()).toBe("working\nstopped\n");
    const lease = await client.get({ ...copy, apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "copier" });
    expect(lease["spec"]).toMatchObject({ holderIdentity: "" });
  });

  test("after a crash of the server, requests succeed, and informers neither lose nor repeat events", async () => {
    const kind = await client.kind(GADGET.apiVersion, GADGET.kind);
    const informers = startInformers(client);
    const { informer } = informers.acquire(kind, { labelSelector: "crash=yes" });
    const events: string[] = [];
    informer.subscribe({
      added: ({ metadata }) => events.push(`added ${metadata.name}`),
      updated: ({ metadata }) => events.push(`updated ${metadata.name}`),
      deleted: ({ metadata }) => events.push(`deleted ${metadata.name}`),
    });
    await informer.whenSynced();
    const { resourceVersion } = await client.list(CONFIG_MAP);
    const labels = { crash: "yes" };
    await client.apply(gadget("before", {}, { labels }));
    await client.apply(gadget("goes", {}, { labels }));
    await expect.poll(() => events, LONG).toEqual(["added before", "added goes"]);
    await server.kill();
    const restart = server.restart();
    const before = { ...GADGET, name: "before", namespace: "default" };
    // A request during the restart waits for the server, or fails as unreachable.
    const answer = client.get(before).then(
      ({ metadata }) => metadata.name,
      (error: unknown) => (isApiError(error) ? error.code : String(error)),
    );
    await restart;
    expect(["before", "Unreachable", "Busy"]).toContain(await answer);
    expect((await client.get(before)).metadata.name).toBe("before");
    // The watch cache of the new server starts after this version.
    const watch = async (): Promise<void> => {
      for await (const _ of client.watch(CONFIG_MAP, { resourceVersion, signal: AbortSignal.timeout(20_000) }));
    };
    await expect(watch()).rejects.toMatchObject({ code: "Expired" });
    await client.apply(gadget("after", {}, { labels }));
    await client.apply(gadget("before", { changed: true }, { labels }));
    await client.delete({ ...GADGET, name: "goes", namespace: "default" });
    const expected = ["added before", "added goes", "added after", "updated before", "deleted goes"];
    await expect.poll(() => [...events].sort(), LONG).toEqual([...expected].sort());
    const live = (await client.list(kind, { labelSelector: "crash=yes" })).items;
    const byName = (objects: readonly LiveObject[]): LiveObject[] =>
      objects.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    expect(byName(informer.cache.list())).toEqual(byName(live));
    await informers.stop();
  });
});

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return await promise.then(
    () => "none",
    (error: unknown) => (isApiError(error) ? error.code : String(error)),
  );
}
