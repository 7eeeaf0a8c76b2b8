import { type FunctionIO, parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { type ConnectedClient, connect, type LiveObject, loadKubeconfig } from "@xfn/kubernetes";
import { createRunnerServer, type RunnerServer } from "@xfn/runner-grpc";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { WIDGET_CRD } from "../harness/composite-kinds.ts";
import { condition } from "../harness/conditions.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";

// XRs that fail permanently do not delay others, and recover when their cause is fixed.

const GOOD = 100;
// One for each worker slot (--concurrency), each longer than the threshold for slow reconciles.
const PLACES = 4;
const HANGS_MS = 3_250;

const XR = { apiVersion: "example.org/v1", kind: "XApp" } as const;
const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const DEFINITION = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositeResourceDefinition",
  metadata: { name: "xapps.example.org" },
  spec: {
    group: "example.org",
    names: { kind: "XApp", plural: "xapps" },
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: ANYTHING, status: ANYTHING } } },
      },
    ],
  },
};
const composition = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name },
  spec: { compositeTypeRef: XR, ...spec },
});
const widget = {
  name: "widget",
  base: { apiVersion: "things.example.org/v1", kind: "Widget", spec: { ports: [{ port: 80 }] } },
  patches: [{ fromFieldPath: "spec.size", toFieldPath: "spec.size" }],
  readinessChecks: [{ type: "None" }],
};
const appsOf = (image: string): JsonObject => ({
  resources: [widget],
  functions: [{ name: "f", type: "Container", container: { image, timeout: "30s" } }],
});
const configMap = (name: string): JsonObject => ({
  name,
  base: { apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } },
  patches: [{ fromFieldPath: "spec.namespace", toFieldPath: "metadata.namespace" }],
  readinessChecks: [{ type: "None" }],
});

describe("XRs that fail permanently", needs("api-server"), () => {
  let server: TestApiServer;
  let runner: RunnerServer;
  let controller: RunningController;
  let client: ConnectedClient;
  let hanging = 0;
  let mostHanging = 0;

  /** The function. The image `broken` fails for XRs whose names ask for it. */
  const run = async (image: string, input: Uint8Array, signal: AbortSignal): Promise<Uint8Array> => {
    const io: FunctionIO = parseFunctionIO(input);
    const name = io.observed.composite?.resource?.metadata?.name ?? "";
    if (image === "broken" && name.startsWith("fatal")) io.results = [{ severity: "Fatal", message: "out of order" }];
    if (image === "broken" && name.startsWith("hangs")) {
      hanging++;
      mostHanging = Math.max(mostHanging, hanging);
      const over = AbortSignal.any([signal, AbortSignal.timeout(HANGS_MS)]);
      const ended = new Promise<void>((resolve) => over.addEventListener("abort", () => resolve(), { once: true }));
      await ended;
      hanging--;
      throw Object.assign(new Error("f: timed out"), { code: "Timeout", phase: "timeout" });
    }
    return Buffer.from(printFunctionIO(io));
  };

  beforeAll(async () => {
    server = await startApiServer();
    await server.apply(WIDGET_CRD, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
    const socket = `unix:${server.folder}/runner.sock`;
    runner = createRunnerServer({
      run: (image, input, { signal }) => run(image, input, signal),
      addresses: [socket],
      maxConcurrent: 64,
      maxQueued: 64,
    });
    await runner.start();
    controller = await startController(server.admin.kubeconfig, {
      args: ["--enable-composition-functions", "--runner", socket, "--concurrency", String(PLACES)],
    });
    client = await connect({
      access: await loadKubeconfig({ path: server.admin.kubeconfig }),
      fieldManager: "user",
    });
    await client.apply(DEFINITION);
    await client.apply(composition("apps", appsOf("broken")));
    await client.apply(composition("crowds", { resources: ["a", "b", "c", "d"].map(configMap) }));
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await client?.close();
    await runner?.stop(0);
    await server?.stop();
  });

  const create = (name: string, spec: JsonObject): Promise<LiveObject> =>
    client.create({ ...XR, metadata: { name }, spec });
  /** `False FatalResult`, by name: the status, and the code of the failure or the reason. */
  const conditions = async (type: string, prefix = ""): Promise<Record<string, string>> => {
    const { items } = await client.list(await client.kind(XR.apiVersion, XR.kind));
    const mine = items.filter(({ metadata }) => metadata.name.startsWith(prefix));
    return Object.fromEntries(
      mine.map((xr) => {
        const { status, reason } = condition(xr, type);
        const [code] = String(condition(xr, type)["message"]).split(":");
        return [xr.metadata.name, `${String(status)} ${String(reason === "ReconcileError" ? code : reason)}`];
      }),
    );
  };
  const message = async (name: string): Promise<string> =>
    String(condition(await client.get({ ...XR, name }), "Synced")["message"]);
  const all = (names: readonly string[], text: string): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, text]));

  test("do not delay a hundred others, report the cause, and are composed when it is fixed", async () => {
    const apps = { compositionRef: { name: "apps" } };
    const hangs = Array.from({ length: PLACES }, (_, index) => `hangs-${index}`);
    const good = Array.from({ length: GOOD }, (_, index) => `good-${index}`);
    await Promise.all([
      ...hangs.map((name) => create(name, { ...apps, size: 1 })),
      create("fatal", { ...apps, size: 1 }),
      // More than the schema of widgets allows.
      create("invalid", { ...apps, size: 5_000 }),
    ]);
    const poisoned = {
      ...all(hangs, "False RunFailed"),
      fatal: "False FatalResult",
      invalid: "False InvalidResource",
    };
    await expect.poll(() => conditions("Synced")).toEqual(poisoned);
    expect(await message("invalid")).toMatch(/"widget".*spec\.size/);
    // From now on the hanging ones are known to be slow: they share one slot.
    mostHanging = hanging;
    await Promise.all(good.map((name) => create(name, { ...apps, size: 2 })));
    await expect.poll(() => conditions("Ready", "good"), { timeout: 40_000 }).toEqual(all(good, "True Available"));
    expect(mostHanging).toBeLessThanOrEqual(1);
    expect(await conditions("Synced")).toMatchObject(poisoned);

    await client.apply(composition("apps", appsOf("mended")));
    await client.patch({ ...XR, name: "invalid" }, "merge", { spec: { size: 1_000 } });
    const names = [...hangs, ...good, "fatal", "invalid"];
    await expect.poll(() => conditions("Synced")).toEqual(all(names, "True ReconcileSuccess"));
    await expect.poll(() => conditions("Ready")).toEqual(all(names, "True Available"));
    expect((await client.list(await client.kind("things.example.org/v1", "Widget"))).items).toHaveLength(names.length);
  });

  test("by a quota are retried with growing delays, and are composed when it is raised", async () => {
    const quota = { apiVersion: "v1", kind: "ResourceQuota", name: "team", namespace: "team" };
    const maps = { ...quota, kind: "ConfigMap" };
    const count = async (): Promise<number> =>
      (await client.list(await client.kind("v1", maps.kind), { namespace: "team" })).items.length;
    const allow = (hard: number): Promise<LiveObject> =>
      client.apply({
        apiVersion: "v1",
        kind: quota.kind,
        metadata: { name: quota.name, namespace: quota.namespace },
        spec: { hard: { "count/configmaps": String(hard) } },
      });
    const before = await count();
    await allow(before + 2);
    // Nothing can be created until the quota is counted.
    await expect.poll(async () => (await client.get(quota))["status"]).toHaveProperty("used");
    await create("crowd", { compositionRef: { name: "crowds" }, namespace: "team" });
    await expect.poll(() => conditions("Synced", "crowd")).toEqual({ crowd: "False Forbidden" });
    expect(await message("crowd")).toMatch(/"[a-d]": forbidden: exceeded quota: team.*\(ConfigMap team\//);
    expect(await count()).toBe(before + 2);
    const failures = controller.log().filter(({ msg, key }) => msg === "reconcile failed" && key === "crowd");
    await controller.logged(({ key, failures: times }) => key === "crowd" && Number(times) > failures.length + 1);
    const pauses = controller.log().flatMap(({ key, retryMs }) => (key === "crowd" ? [Number(retryMs)] : []));
    // Each delay is twice the last one, minus up to a half of it at random.
    expect(pauses.at(-1)).toBeGreaterThan(pauses[0] ?? 0);

    await allow(before + 4);
    await expect.poll(() => conditions("Ready", "crowd"), { timeout: 40_000 }).toEqual({ crowd: "True Available" });
    expect(await conditions("Synced", "crowd")).toEqual({ crowd: "True ReconcileSuccess" });
    expect(await count()).toBe(before + 4);
  });
});
