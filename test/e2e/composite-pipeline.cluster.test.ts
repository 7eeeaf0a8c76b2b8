import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { pipelineInspector } from "@xfn/controller";
import { ConnectedFunctions, type NamedFunction, type PackageHost } from "@xfn/controller/functions";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { ResponseCache } from "@xfn/pipeline";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type FunctionServer,
  schemaOf,
  serveTestFunction,
  type TestRequest,
  type TestResponse,
} from "../../packages/function-grpc/testing/function-server.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { installKinds } from "../harness/composite-kinds.ts";
import { type CompositeWorld, compositeWorld } from "../harness/composites.ts";
import { condition } from "../harness/conditions.ts";
import { needs } from "../harness/needs.ts";
import { XFN_MAIN } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// Composite resources of mode: Pipeline on a real API server. Their functions are gRPC servers in this process.

const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };
const widget = (name: string, spec: JsonObject = {}): JsonObject => ({ ...WIDGET, metadata: { name }, spec });

/** The current behaviour of the function. */
let answer: (request: TestRequest) => TestResponse | Promise<TestResponse> = () => ({});

const runner = { run: () => Promise.reject(new Error("no container step is expected")) };
const noHost = { callFunction: () => Promise.reject(new Error("no package is expected")) };
const NO_FILES = { ca: undefined, cert: undefined, key: undefined };

describe("mode: Pipeline of a composite resource", needs("api-server"), () => {
  let server: TestApiServer;
  let world: CompositeWorld;
  let fn: FunctionServer;
  let functions: ConnectedFunctions;

  beforeAll(async () => {
    server = await startApiServer();
    await installKinds(server);
    fn = await serveTestFunction((request) => answer(request));
    functions = connected({ name: "function-test", source: fn.address });
    world = await compositeWorld(server, { runner, functions });
  });
  afterAll(async () => {
    await world?.stop();
    functions?.close();
    fn?.stop();
    await server?.stop();
  });
  beforeEach(() => {
    pipeline({ step: "only", functionRef: { name: "function-test" } });
    world.events.length = 0;
    answer = () => ({});
  });
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  const connected = (...named: NamedFunction[]): ConnectedFunctions => new ConnectedFunctions(noHost, named, NO_FILES);
  const pipeline = (...steps: JsonObject[]): void => world.compose({ mode: "Pipeline", pipeline: steps });
  const find = (name: string) => world.find(WIDGET.apiVersion, WIDGET.kind, name);
  const conditionOf = async (name: string, type: string): Promise<JsonObject> => condition(await world.xr(name), type);

  test("a function at an endpoint composes, and a later step sees its context", async () => {
    pipeline(
      { step: "first", functionRef: { name: "function-test" }, input: { kind: "Input", entry: "a" } },
      { step: "second", functionRef: { name: "function-test" }, input: { kind: "Input", entry: "b" } },
    );
    answer = ({ input, context }) => ({
      resources: { [String(input["entry"])]: { resource: widget(`composes-${String(input["entry"])}`), ready: true } },
      context: { seen: [...((context["seen"] as string[] | undefined) ?? []), input["entry"] as string] },
      composite: { resource: { status: { seen: (context["seen"] ?? []) as string[] } } },
    });
    await world.create("composes");
    await world.reconcile("composes");
    expect(await find("composes-a")).toBeDefined();
    expect(await find("composes-b")).toBeDefined();
    expect((await world.xr("composes"))["status"]).toMatchObject({ seen: ["a"] });
    expect(await conditionOf("composes", "Ready")).toMatchObject({ status: "True" });
    await world.reconcile("composes");
    expect(world.writes()).toEqual([]);
  });

  test("xfn inspect shows what the steps of a run change, without secrets", async () => {
    const socket = join(temporaryFolder(), "inspector.sock");
    const program = spawn(process.execPath, [XFN_MAIN, "inspect", "--socket", socket]);
    const written = { stdout: "", stderr: "" };
    onTestFinished(() => void program.kill());
    program.stdout.on("data", (text: Buffer) => (written.stdout += text.toString()));
    program.stderr.on("data", (text: Buffer) => (written.stderr += text.toString()));
    await vi.waitFor(() => expect(written.stderr).toContain("waiting"), { timeout: 60_000 });
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const dropped: unknown[] = [];
    const onDrop = (one: unknown): void => void dropped.push(one);
    const inspector = pipelineInspector({ socket, log, now: Date.now, onDrop, deadlineMs: 30_000 });
    onTestFinished(() => inspector.close());
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "inspected", namespace: "default" } };
    await world.client.create({ ...secret, stringData: { token: "open-sesame" } });
    pipeline({
      step: "only",
      functionRef: { name: "function-test" },
      credentials: [{ name: "own", source: "Secret", secretRef: { namespace: "default", name: "inspected" } }],
    });
    const metadata = { name: "inspected", annotations: { note: "uses open-sesame" } };
    answer = () => ({ resources: { a: { resource: { ...widget("inspected", { size: 1 }), metadata } } } });
    await world.create("inspected");
    await world.reconcile("inspected", { inspector, credentialsSecretNamespaces: ["default"] });
    await vi.waitFor(() => expect(written.stdout).toContain("size: 1"), { timeout: 30_000 });
    expect(written.stdout).toMatch(/^XDatabase inspected, composed by \S+, run [0-9a-f]{8}\n1\. only function-test /);
    expect(written.stdout).toContain("   + a (Widget): added, does not exist yet\n");
    expect(written.stdout).toContain("note: '**REDACTED**'");
    expect(written.stdout).not.toContain("open-sesame");
    expect(await find("inspected")).toMatchObject({ metadata });
    expect(dropped).toEqual([]);
  });

  test("a package is pulled with the pull secrets of the controller's service account", async () => {
    const config = { auths: { "registry.example.org": { username: "ada", password: "hunter2" } } };
    const metadata = { name: "pull", namespace: "xfn-system" };
    const type = "kubernetes.io/dockerconfigjson";
    const stringData = { ".dockerconfigjson": JSON.stringify(config) };
    await server.kubectl(["create", "namespace", "xfn-system"]);
    await world.client.create({ apiVersion: "v1", kind: "Secret", metadata, type, stringData });
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "xfn", namespace: "xfn-system" } };
    await world.client.create({ ...account, imagePullSecrets: [{ name: "pull" }] });
    const calls: unknown[] = [];
    const host: PackageHost = {
      async callFunction(image, _path, _message, { step, auth }) {
        calls.push([image, step, auth]);
        throw Object.assign(new Error("it crashed"), { code: "ServerExited", retryable: true, stderr: "out of ideas" });
      },
    };
    const sources = ["registry.example.org/named:v1", "elsewhere.example.org/named:v1"];
    const named = sources.map((source, index) => ({ name: `function-${index}`, source }));
    const directory = new ConnectedFunctions(host, named, NO_FILES);
    await world.create("pulled");
    for (const { name } of named) {
      pipeline({ step: "only", functionRef: { name } });
      const failure = await world
        .reconcile("pulled", { functions: directory, serviceAccount: "xfn" })
        .catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: "PipelineError", stderr: "out of ideas", retryable: true });
    }
    const auth = { username: "ada", password: "hunter2" };
    expect(calls).toEqual([
      [sources[0], "only", auth],
      [sources[1], "only", undefined],
    ]);
    expect(JSON.stringify([world.events, world.logged, await world.xr("pulled")])).not.toMatch(/hunter2|out of ideas/);
  });

  test("a step whose Function is unknown is reported with the way out", async () => {
    pipeline({ step: "only", functionRef: { name: "function-other" } });
    await world.create("unknown");
    await expect(world.reconcile("unknown")).rejects.toThrow();
    const synced = await conditionOf("unknown", "Synced");
    expect(synced).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^FunctionNotFound: /),
    });
    expect(synced["message"]).toContain('step "only"');
    expect(synced["message"]).toContain("--function function-other=ENDPOINT");
    expect(synced["message"]).toContain("it knows: function-test");
  });

  test("an endpoint that nothing listens at is reported, and works as soon as a function listens there", async () => {
    const gone = await serveTestFunction(() => ({}));
    const port = Number(gone.address.split(":")[1]);
    const directory = connected({ name: "function-test", source: gone.address });
    closers.push(() => directory.close());
    const context = { functions: directory };
    gone.stop();
    await world.create("down");
    await expect(world.reconcile("down", context)).rejects.toThrow(expect.objectContaining({ retryable: true }));
    const synced = await conditionOf("down", "Synced");
    expect(synced).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^RunFailed: /),
    });
    expect(synced["message"]).toContain(`cannot connect to ${gone.address}`);
    const back = await serveTestFunction(() => ({ composite: { resource: { status: { up: true } } } }), { port });
    await world.reconcile("down", context);
    expect((await world.xr("down"))["status"]).toMatchObject({ up: true });
    // The server restarts: the open connection is lost.
    back.stop();
    const again = await serveTestFunction(() => ({ composite: { resource: { status: { up: "again" } } } }), { port });
    closers.push(() => again.stop());
    await world.reconcile("down", context);
    expect((await world.xr("down"))["status"]).toMatchObject({ up: "again" });
  });

  test("conditions and results of a function are those of the XR, but for conditions of the system", async () => {
    answer = () => ({
      conditions: [
        { type: "DatabaseReady", status: 1, reason: "Starting", message: "it starts" },
        { type: "DatabaseReady", status: 2, reason: "Up" },
        { type: "Synced", status: 2, reason: "Forged" },
      ],
      results: [
        { severity: 3, message: "all is well", reason: "Checked" },
        { severity: 2, message: "look here" },
      ],
    });
    await world.create("conditions");
    await world.reconcile("conditions");
    expect(await conditionOf("conditions", "DatabaseReady")).toMatchObject({ status: "True", reason: "Up" });
    expect(await conditionOf("conditions", "Synced")).toMatchObject({ reason: "ReconcileSuccess" });
    const events = world.events.map(({ type, reason, message }) => `${type} ${reason} ${message}`);
    expect(events).toContain('Normal Checked Pipeline step "only": all is well');
    expect(events).toContain('Warning ComposeResources Pipeline step "only": look here');
    expect(events.join("\n")).toContain('set the condition "Synced", which has no effect: the controller sets it');
    // Only the last of two conditions of one type may count, because each change of the status gets a new time.
    const later = Date.now() + 60_000;
    await world.reconcile("conditions", { now: () => later });
    expect(world.writes()).toEqual([]);

    answer = () => ({
      conditions: [{ type: "Network", status: 2, reason: "Up" }],
      results: [{ severity: 1, message: "no further" }],
    });
    await expect(world.reconcile("conditions")).rejects.toThrow("no further");
    expect(await conditionOf("conditions", "Network")).toMatchObject({ status: "True" });
    expect(await conditionOf("conditions", "DatabaseReady")).toMatchObject({ status: "Unknown", reason: "FatalError" });
    expect(await conditionOf("conditions", "Synced")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^FatalResult: /),
    });
    await expect(world.reconcile("conditions")).rejects.toThrow();
    expect(world.writes()).toEqual([]);
  });

  test("a function decides whether resources and the XR are ready", async () => {
    let ready: TestResponse = { resources: { a: { resource: widget("ready-a"), ready: false } } };
    answer = () => ready;
    await world.create("ready");
    await world.reconcile("ready");
    const unready = await conditionOf("ready", "Ready");
    expect(unready).toMatchObject({ status: "False", message: "Unready resources: a" });
    ready = { ...ready, composite: { ready: true } };
    await world.reconcile("ready");
    expect(await conditionOf("ready", "Ready")).toMatchObject({ status: "True", reason: "Available" });
    ready = { resources: { a: { resource: widget("ready-a"), ready: true } }, composite: { ready: false } };
    await world.reconcile("ready");
    expect(await conditionOf("ready", "Ready")).toMatchObject({ status: "False", reason: "Creating" });
  });

  test("a function that returns no desired state deletes all, and is reported", async () => {
    pipeline(
      { step: "first", functionRef: { name: "function-test" }, input: { kind: "Input", drops: false } },
      { step: "second", functionRef: { name: "function-test" }, input: { kind: "Input", drops: true } },
    );
    let drops = false;
    answer = ({ input }) =>
      input["drops"] === true
        ? { dropsDesired: drops }
        : { resources: { a: { resource: widget("drops-a"), ready: true } } };
    await world.create("drops");
    await world.reconcile("drops");
    expect(await find("drops-a")).toBeDefined();
    drops = true;
    await world.reconcile("drops");
    await world.reconcile("drops");
    expect(await find("drops-a")).toBeUndefined();
    expect(world.events.map(({ message }) => message).join("\n")).toContain('step "second" returned no desired state');
  });

  test("the shortest time to live of the functions is the time until the next reconcile, within bounds", async () => {
    let ttlMs = 30_000;
    answer = () => ({ ttlMs });
    await world.create("ttl");
    expect(await world.reconcile("ttl")).toEqual({ requeueAfterMs: 30_000 });
    ttlMs = 1;
    expect(await world.reconcile("ttl")).toEqual({ requeueAfterMs: 1_000 });
  });

  test("a steady XR calls no function while the response can be used, and calls it again after that", async () => {
    let now = 0;
    const context = { responses: new ResponseCache({ maxBytes: 1_000_000, now: () => now }) };
    answer = ({ xr }) => ({
      resources: { a: { resource: widget("cached-a", { size: (xr["spec"] as { size: number }).size }), ready: true } },
      ttlMs: 60_000,
    });
    await world.create("cached", { size: 1 });
    // The first ones change the XR, which is a part of the request.
    for (let i = 0; i < 3; i++) await world.reconcile("cached", context);
    const steady = fn.calls;
    now = 20_000;
    expect(await world.reconcile("cached", context)).toEqual({ requeueAfterMs: 40_000 });
    expect(world.requests()).toEqual([]);
    expect(fn.calls).toBe(steady);
    now = 61_000;
    await world.reconcile("cached", context);
    expect(fn.calls).toBe(steady + 1);
    await world.client.patch({ apiVersion: "example.org/v1", kind: "XDatabase", name: "cached" }, "merge", {
      spec: { size: 2 },
    });
    await world.reconcile("cached", context);
    expect(fn.calls).toBe(steady + 2);
    expect((await find("cached-a"))?.["spec"]).toEqual({ size: 2 });
  });

  test("neither a fatal response nor one without a time to live is used again", async () => {
    const context = { responses: new ResponseCache({ maxBytes: 1_000_000 }) };
    let response: TestResponse = {};
    answer = () => response;
    await world.create("uncached");
    for (let i = 0; i < 3; i++) await world.reconcile("uncached", context);
    const before = fn.calls;
    await world.reconcile("uncached", context);
    expect(fn.calls).toBe(before + 1);
    response = { ttlMs: 60_000, results: [{ severity: 1, message: "no" }] };
    for (let i = 0; i < 3; i++) await expect(world.reconcile("uncached", context)).rejects.toThrow();
    expect(fn.calls).toBe(before + 4);
  });

  const configMap = async (name: string, labels: Record<string, string>, size: string): Promise<void> => {
    const metadata = { name, namespace: "default", labels };
    await world.client.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { size } });
  };
  const selector = { apiVersion: "v1", kind: "ConfigMap", namespace: "default" };
  const sizesOf = (objects: JsonObject[] | undefined): unknown =>
    objects?.map((object) => (object["data"] as JsonObject)["size"]);

  test("a function gets what it requires, by name and by labels, with the controller's rights", async () => {
    await configMap("required-b", { app: "required" }, "2");
    await configMap("required-a", { app: "required" }, "1");
    await configMap("required-c", { app: "other" }, "3");
    answer = ({ required }) => ({
      requires: {
        one: { ...selector, matchName: "required-c" },
        some: { ...selector, matchLabels: { labels: new Map([["app", "required"]]) } },
        none: { ...selector, matchName: "required-missing" },
        odd: { ...selector, matchLabels: { labels: new Map([["app", "required,app!=other"]]) } },
      },
      composite: {
        resource: {
          status: {
            sizes: ["one", "some", "none", "odd"].map((name) => sizesOf(required(name)) ?? "unknown") as string[],
            managed: required("one")?.some(({ metadata }) => "managedFields" in (metadata as JsonObject)) ?? false,
          },
        },
      },
    });
    await world.create("required");
    await world.reconcile("required");
    expect((await world.xr("required"))["status"]).toMatchObject({
      sizes: [["3"], ["1", "2"], [], []],
      managed: false,
    });
    await world.reconcile("required");
    expect(world.writes()).toEqual([]);
    await configMap("required-c", { app: "other" }, "4");
    await world.reconcile("required");
    expect((await world.xr("required"))["status"]).toMatchObject({ sizes: [["4"], ["1", "2"], [], []] });
  });

  test("a function gets the schema that it requires, with its references replaced", async () => {
    answer = ({ wire }) => ({
      requiresSchemas: { pod: { apiVersion: "v1", kind: "ConfigMap" }, none: { apiVersion: "v1", kind: "Nothing" } },
      composite: {
        resource: {
          status: {
            schemas: ["pod", "none"].map((name) => String(schemaOf(wire, name)["type"])),
            isWhole: /"labels"/.test(JSON.stringify(schemaOf(wire, "pod"))),
            refers: /"\$ref"/.test(JSON.stringify(schemaOf(wire, "pod"))),
          },
        },
      },
    });
    await world.create("schemas");
    await world.reconcile("schemas");
    expect((await world.xr("schemas"))["status"]).toMatchObject({
      schemas: ["object", "undefined"],
      isWhole: true,
      refers: false,
    });
    expect(world.requests().filter((one) => one.startsWith("raw"))).toHaveLength(2);
    await world.reconcile("schemas");
    expect(world.requests().filter((one) => one.startsWith("raw"))).toHaveLength(0);
  });

  test.each([
    ["a Secret", { apiVersion: "v1", kind: "Secret", namespace: "default", matchName: "s" }, "SecretsDisabled"],
    ["all Secrets", { apiVersion: "v1", kind: "Secret", matchLabels: { labels: new Map() } }, "SecretsDisabled"],
    ["an unknown kind", { apiVersion: "example.org/v9", kind: "Unknown", matchName: "x" }, "KindNotServed"],
    ["a name without its namespace", { apiVersion: "v1", kind: "ConfigMap", matchName: "x" }, "InvalidResource"],
  ] as const)("a function that requires %s is refused", async (title, required, reason) => {
    const name = `refused-${title.replace(/[^a-z]+/gi, "-").toLowerCase()}`;
    answer = () => ({ requires: { it: required }, resources: { a: { resource: widget(name) } } });
    await world.create(name);
    await expect(world.reconcile(name)).rejects.toThrow();
    expect(await conditionOf(name, "Synced")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringContaining(`${reason}: `),
    });
    expect((await conditionOf(name, "Synced"))["message"]).toContain('step "only"');
    expect(await find(name)).toBeUndefined();
  });

  test("a function whose requirements never settle is called six times, and reported", async () => {
    let calls = 0;
    answer = () => ({ requires: { [`r${++calls}`]: { ...selector, matchName: "x" } } });
    await world.create("unsettled");
    await expect(world.reconcile("unsettled")).rejects.toThrow();
    expect(calls).toBe(6);
    const synced = await conditionOf("unsettled", "Synced");
    expect(synced).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^RunFailed: /),
    });
    expect(synced["message"]).toContain("did not stabilize within 6 calls");
  });

  test("a function gets 10,000 objects, and no more", async () => {
    let count = 10_000;
    const objects = (): LiveObject[] =>
      Array.from({ length: count }, (_, index) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `c${index}`, namespace: "default", uid: `u${index}`, resourceVersion: "1" },
      }));
    const asked: unknown[] = [];
    const many = world.wrap((inner) => ({
      list: async (kind, options) => {
        if (kind.kind !== "ConfigMap") return await inner.list(kind, options);
        asked.push(options?.maxItems);
        return await Promise.resolve({ items: objects(), resourceVersion: "1" });
      },
    }));
    answer = ({ required }) => ({
      requires: { all: { apiVersion: "v1", kind: "ConfigMap", matchLabels: { labels: new Map() } } },
      composite: { resource: { status: { count: required("all")?.length ?? 0 } } },
    });
    await world.create("many");
    const context = { client: many };
    await world.reconcile("many", context);
    expect((await world.xr("many"))["status"]).toMatchObject({ count: 10_000 });
    expect(asked).toEqual([10_001]);
    count = 10_001;
    await expect(world.reconcile("many", context)).rejects.toThrow();
    expect(await conditionOf("many", "Synced")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^TooManyRequired: /),
    });
  });

  test("a step gets credentials from allowed namespaces alone, and its responses are not kept", async () => {
    for (const namespace of ["allowed", "foreign"]) {
      await server.kubectl(["create", "namespace", namespace]);
      const metadata = { name: "token", namespace };
      await world.client.create({ apiVersion: "v1", kind: "Secret", metadata, stringData: { token: "hunter2" } });
    }
    const step = (namespace: string, name: string): JsonObject => ({
      step: "only",
      functionRef: { name: "function-test" },
      credentials: [{ name: "cloud", source: "Secret", secretRef: { namespace, name } }],
    });
    const context = {
      credentialsSecretNamespaces: ["allowed"],
      responses: new ResponseCache({ maxBytes: 1_000_000 }),
    };
    answer = ({ wire }) => ({
      composite: {
        resource: {
          status: {
            length: String(wire.credentials.get("cloud")?.credentialData?.data.get("token")).length,
          },
        },
      },
      ttlMs: 60_000,
    });
    pipeline(step("allowed", "token"));
    await world.create("credentials");
    for (let i = 0; i < 3; i++) await world.reconcile("credentials", context);
    expect((await world.xr("credentials"))["status"]).toMatchObject({ length: "hunter2".length });
    const before = fn.calls;
    await world.reconcile("credentials", context);
    expect(fn.calls).toBe(before + 1);
    pipeline(step("allowed", "missing"));
    await expect(world.reconcile("credentials", context)).rejects.toThrow("there is no Secret allowed/missing");
    pipeline(step("foreign", "token"));
    await expect(world.reconcile("credentials", context)).rejects.toThrow();
    const synced = await conditionOf("credentials", "Synced");
    expect(synced).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^CredentialsNotAllowed: /),
    });
    expect(synced["message"]).toContain("--credentials-secret-namespaces foreign");
    expect(fn.calls).toBe(before + 1);
    // The controller's own namespace is allowed no more than others.
    pipeline(step("xfn-system", "token"));
    await expect(world.reconcile("credentials", context)).rejects.toThrow();
    expect(await conditionOf("credentials", "Synced")).toMatchObject({
      message: expect.stringMatching(/^CredentialsNotAllowed: /),
    });
    expect(JSON.stringify([world.events, world.logged, await world.xr("credentials")])).not.toContain("hunter2");
  });
});
