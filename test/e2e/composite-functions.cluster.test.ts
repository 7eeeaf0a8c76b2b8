import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allowedWebhooks, debugRecordings, FIELD_MANAGERS } from "@xfn/controller";
import { type FunctionIO, parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import type { FunctionRunner, RunOptions } from "@xfn/pipeline";
import { inProcessRunner } from "@xfn/pipeline/in-process";
import { readRecording } from "@xfn/pipeline/recording";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { installKinds } from "../harness/composite-kinds.ts";
import { type CompositeWorld, compositeWorld } from "../harness/composites.ts";
import { condition } from "../harness/conditions.ts";
import { needs } from "../harness/needs.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

// The desired state of functions, on a real API server.

const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };
const XR = { apiVersion: "example.org/v1", kind: "XDatabase" };

/** The current behaviour of the function. */
let desired: (io: FunctionIO) => void = () => {};
/** The output of the function. */
let written: (io: FunctionIO) => string = printFunctionIO;
let given: FunctionIO | undefined;
let options: RunOptions | undefined;

const runner: FunctionRunner = inProcessRunner({
  fn: (bytes, how) => {
    const io = parseFunctionIO(bytes);
    given = structuredClone(io);
    options = how;
    desired(io);
    return Buffer.from(written(io));
  },
});

const FUNCTION = { name: "step", type: "Container", container: { image: "fn" } };

describe("functions of a composite resource", needs("api-server"), () => {
  let server: TestApiServer;
  let world: CompositeWorld;

  beforeAll(async () => {
    server = await startApiServer();
    await installKinds(server);
    await server.kubectl(["create", "namespace", "xfn-system"]);
    await server.kubectl(["create", "namespace", "foreign"]);
    // The webhook's own tests are in webhook-functions.test.ts.
    const webhooks = allowedWebhooks(["*.example.org"], {
      call: (url, input, options) => runner.run("fn", input, { step: `${options.step} at ${url}` }),
    });
    world = await compositeWorld(server, {
      runner,
      webhooks,
      pullSecretNamespaces: ["allowed"],
      serviceAccount: "xfn",
    });
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });
  beforeEach(() => {
    world.compose({ functions: [FUNCTION] });
    world.events.length = 0;
    world.logged.length = 0;
    desired = () => {};
    written = printFunctionIO;
  });

  const widget = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
    ...WIDGET,
    metadata: { name, ...metadata },
    spec,
  });
  const wants =
    (resources: Record<string, JsonObject | null>, composite?: JsonObject) =>
    (io: FunctionIO): void => {
      io.desired = {
        ...(composite && { composite: { resource: composite } }),
        resources: Object.entries(resources).map(([name, resource]) => ({ name, resource })),
      };
    };
  const find = (name: string) => world.find(WIDGET.apiVersion, WIDGET.kind, name);
  const conditionOf = async (name: string, type: string): Promise<JsonObject> => condition(await world.xr(name), type);
  const references = async (name: string): Promise<unknown> =>
    ((await world.xr(name))["spec"] as JsonObject)["resourceRefs"];

  test("the runs of an XR with the annotation are recorded, without secrets, and those of others are not", async () => {
    const folder = await mkdtemp(join(tmpdir(), "xfn-recordings-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const context = { recordings: debugRecordings({ folder, log, now: Date.now }) };
    const password = "generated-by-the-function";
    desired = (io) => {
      io.desired = {
        composite: { connectionDetails: [{ name: "password", value: password }] },
        resources: [{ name: "main", resource: widget("recorded", {}, { annotations: { note: `uses ${password}` } }) }],
      };
    };
    await world.create("recorded", { size: 1 });
    await world.reconcile("recorded", context);
    expect(await find("recorded")).toMatchObject({ metadata: { annotations: { note: `uses ${password}` } } });
    expect(await readdir(folder)).toEqual([]);
    await server.kubectl(["annotate", "xdatabase", "recorded", "apiextensions.crossplane.io/record-runs=true"]);
    await world.reconcile("recorded", context);
    const [composite = ""] = await readdir(folder);
    const [run = ""] = await readdir(join(folder, composite));
    const recording = readRecording(join(folder, composite, run));
    expect(recording).toMatchObject({ status: "Succeeded", composite: { kind: "XDatabase", name: "recorded" } });
    expect(recording.steps.map(({ name }) => name)).toEqual(["step"]);
    const text = await readFile(join(folder, composite, run, "01-step.yaml"), "utf8");
    expect(text).toMatch(/note: \(secret \d\)/);
    expect(text).not.toContain(password);
  });

  test("status, spec, labels and annotations of the XR stay while a function desires them", async () => {
    await world.create("status", { size: 1 });
    const first = {
      metadata: { labels: { team: "a" }, annotations: { note: "x" } },
      spec: { region: "eu" },
      status: { endpoint: "db:5432", users: ["a"], conditions: [{ type: "Migrated", status: "True", reason: "Done" }] },
    };
    desired = wants({}, first);
    await world.reconcile("status");
    const xr = await world.xr("status");
    expect(xr["spec"]).toMatchObject({ size: 1, region: "eu" });
    expect(xr["status"]).toMatchObject({ endpoint: "db:5432", users: ["a"] });
    expect(xr.metadata).toMatchObject({ labels: { team: "a" }, annotations: { note: "x" } });
    expect(await conditionOf("status", "Migrated")).toMatchObject({ status: "True" });
    await world.reconcile("status");
    expect(world.writes()).toEqual([]);

    desired = wants({}, { metadata: {}, spec: {}, status: { endpoint: "db:5433" } });
    await world.reconcile("status");
    const later = await world.xr("status");
    expect(later["spec"]).not.toHaveProperty("region");
    expect(later["status"]).toMatchObject({ endpoint: "db:5433" });
    expect(later["status"]).not.toHaveProperty("users");
    expect(later.metadata.labels).not.toHaveProperty("team");
    // Nothing is desired of the XR: it stays as it is.
    desired = wants({});
    await world.reconcile("status");
    expect(world.writes()).toEqual([]);
  });

  test("the selection and the function's fields survive a change of the referenceable version", async () => {
    await world.create("versions");
    const all = { metadata: { labels: { team: "a" } }, spec: { region: "eu" }, status: { endpoint: "db:5432" } };
    desired = wants({}, all);
    await world.reconcile("versions");
    const before = await world.xr("versions");
    // As if applied while v0 was that version: a server has one entry for all applies of a manager.
    const crd = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      name: "xdatabases.example.org",
    };
    const { versions } = (await world.client.get(crd))["spec"] as { versions: JsonObject[] };
    const v0 = { ...versions[0], name: "v0", storage: false };
    await world.client.patch(crd, "merge", { spec: { versions: [...versions, v0] } });
    await expect
      .poll(() => server.kubectl(["get", "xdatabases.v0.example.org", "versions"]).then(String, String), {
        timeout: 20_000,
      })
      .toContain("versions");
    const managedFields = (before.metadata["managedFields"] as JsonObject[]).map((entry) => ({
      ...entry,
      apiVersion: "example.org/v0",
    }));
    await world.client.patch({ ...XR, name: "versions" }, "merge", { metadata: { managedFields } });
    desired = wants({});
    await world.reconcile("versions");
    const after = await world.xr("versions");
    expect(after["spec"]).toEqual(before["spec"]);
    expect(after["status"]).toEqual(before["status"]);
    expect(after.metadata.labels).toEqual(before.metadata.labels);
    const ours = (after.metadata["managedFields"] as JsonObject[]).filter(
      ({ manager }) => manager === FIELD_MANAGERS.xr || manager === FIELD_MANAGERS.composite,
    );
    expect(ours.map((entry) => entry["apiVersion"])).toEqual(["example.org/v1", "example.org/v1"]);
    await world.reconcile("versions");
    expect(world.writes()).toEqual([]);
    // A field that is no longer desired is removed, although it was applied in the previous version.
    desired = wants({}, { metadata: {}, spec: {}, status: {} });
    await world.reconcile("versions");
    expect((await world.xr("versions"))["spec"]).not.toHaveProperty("region");
  });

  test("a function that returns its XR unchanged owns nothing: a user can remove a field", async () => {
    await world.create("echo");
    const users = (spec: JsonObject) => world.client.apply({ ...XR, metadata: { name: "echo" }, spec });
    await users({ size: 1, extra: { deep: 1 } });
    desired = (io) => {
      io.desired = { composite: { resource: structuredClone(given?.observed.composite?.resource ?? {}) } };
    };
    await world.reconcile("echo");
    await world.reconcile("echo");
    await users({ size: 1 });
    await world.reconcile("echo");
    expect((await world.xr("echo"))["spec"]).not.toHaveProperty("extra");
    await world.reconcile("echo");
    expect(world.writes()).toEqual([]);
  });

  test("present is applied, null is deleted, absent is left alone, and reported if a step dropped it", async () => {
    await world.create("states");
    desired = wants({ a: widget("states-a", { size: 1 }), b: widget("states-b"), c: widget("states-c") });
    await world.reconcile("states");
    desired = wants({ a: widget("states-a", { size: 2 }), b: null });
    await world.reconcile("states");
    await world.reconcile("states");
    expect((await find("states-a"))?.["spec"]).toEqual({ size: 2 });
    expect(await find("states-b")).toBeUndefined();
    expect(await find("states-c")).toBeDefined();
    expect(await references("states")).toMatchObject([{ name: "states-a" }, { name: "states-c" }]);
    world.compose({ functions: [FUNCTION], undesiredResources: "Delete" });
    await world.reconcile("states");
    await world.reconcile("states");
    expect(await find("states-c")).toBeUndefined();
    expect(await references("states")).toMatchObject([{ name: "states-a" }]);
  });

  test("a fatal, failed or invalid run changes nothing and is reported; the next run continues", async () => {
    world.compose({ functions: [FUNCTION], undesiredResources: "Delete" });
    await world.create("fatal");
    desired = wants({ a: widget("fatal-a"), b: widget("fatal-b") }, { status: { users: "kept" } });
    await world.reconcile("fatal");
    const before = await world.xr("fatal");
    const problems: [string, (io: FunctionIO) => void][] = [
      [
        "FatalResult",
        (io) => {
          io.desired = {};
          io.results = [
            { severity: "Warning", message: "careful" },
            { severity: "Fatal", message: "stop here" },
          ];
        },
      ],
      [
        "RunFailed",
        () => {
          throw new Error("boom");
        },
      ],
      ["InvalidDesired", wants({ x: { metadata: {} } })],
      ["EmptyOutput", () => (written = () => "")],
      ["MultipleDocuments", () => (written = () => "a: 1\n---\nb: 2\n")],
      ["InvalidOutput", () => (written = () => "what: is this\n")],
    ];
    for (const [reason, problem] of problems) {
      desired = problem;
      written = printFunctionIO;
      await expect(world.reconcile("fatal")).rejects.toThrow(expect.objectContaining({ code: reason }));
      expect(world.writes()).toEqual(["apply xdatabases.example.org"]);
      expect(await conditionOf("fatal", "Synced")).toMatchObject({
        status: "False",
        reason: "ReconcileError",
        message: expect.stringContaining(`${reason}: `),
      });
      await expect(world.reconcile("fatal")).rejects.toThrow();
      expect(world.writes()).toEqual([]);
    }
    expect(world.events.map(({ type, message }) => `${type} ${message}`)).toContain(
      'Warning Pipeline step "step": careful',
    );
    const after = await world.xr("fatal");
    expect(after["spec"]).toEqual(before["spec"]);
    expect(after["status"]).toMatchObject({ users: "kept" });
    expect(await find("fatal-a")).toBeDefined();
    written = printFunctionIO;
    desired = wants({ a: widget("fatal-a") }, { status: { users: "kept" } });
    await world.reconcile("fatal");
    expect(await conditionOf("fatal", "Synced")).toMatchObject({ status: "True" });
    expect(await find("fatal-b")).toBeUndefined();
  });

  test("an entry retains its object's name, so that a renaming function or a crash creates no second object", async () => {
    await world.create("named");
    desired = wants({ a: widget("named-1") });
    await world.reconcile("named");
    desired = wants({ a: widget("named-2", { size: 2 }) });
    world.restart();
    await world.reconcile("named");
    expect(await find("named-2")).toBeUndefined();
    expect((await find("named-1"))?.["spec"]).toEqual({ size: 2 });
    desired = wants({ a: { ...WIDGET, metadata: { generateName: "gen-" }, spec: {} }, b: { ...WIDGET, spec: {} } });
    await world.create("generated");
    await world.reconcile("generated");
    world.restart();
    await world.reconcile("generated");
    const { items } = await world.client.list(await world.client.kind(WIDGET.apiVersion, WIDGET.kind), {
      labelSelector: "crossplane.io/composite=generated",
    });
    expect(items.map(({ metadata }) => metadata.name.replace(/[0-9a-f]{12}$/, "")).toSorted()).toEqual([
      "gen-",
      "generated-",
    ]);
  });

  test("a function cannot set owners, finalizers and identity of its desired objects", async () => {
    await world.create("identity");
    const uid = (await world.xr("identity")).metadata.uid;
    desired = wants({
      a: widget(
        "identity-a",
        {},
        {
          finalizers: ["evil/forever"],
          ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "other", controller: true }],
          labels: { "crossplane.io/composite": "other" },
          annotations: { "crossplane.io/composition-resource-name": "z" },
        },
      ),
    });
    await world.reconcile("identity");
    const { metadata } = (await find("identity-a")) ?? {};
    expect(metadata?.["finalizers"]).toBeUndefined();
    expect(metadata?.["ownerReferences"]).toMatchObject([{ uid, controller: true }]);
    expect(metadata?.labels).toEqual({ "crossplane.io/composite": "identity" });
    expect(metadata?.annotations).toEqual({ "crossplane.io/composition-resource-name": "a" });
    expect(world.events.map(({ message }) => message).join("\n")).toContain("evil/forever");
  });

  test("an object that a function moves to another entry is neither deleted nor created again", async () => {
    world.compose({ functions: [FUNCTION], undesiredResources: "Delete" });
    await world.create("renamed");
    desired = wants({ a: widget("renamed-a") });
    await world.reconcile("renamed");
    const before = await find("renamed-a");
    desired = wants({ b: widget("renamed-a") });
    await world.reconcile("renamed");
    await world.reconcile("renamed");
    const after = await find("renamed-a");
    expect(after?.metadata.uid).toBe(before?.metadata.uid);
    expect(after?.metadata["deletionTimestamp"]).toBeUndefined();
    expect(after?.metadata.annotations?.["crossplane.io/composition-resource-name"]).toBe("b");
    desired = wants({ b: widget("renamed-a"), c: widget("renamed-a") });
    await expect(world.reconcile("renamed")).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
  });

  test("functions see connection details; the XR publishes those that its definition allows", async () => {
    const place = { name: "conn", namespace: "xfn-system" };
    await world.create("secrets", { writeConnectionSecretToRef: place });
    const widgetSecret = { name: "widget-conn", namespace: "xfn-system" };
    await world.client.create({
      apiVersion: "v1",
      kind: "Secret",
      metadata: widgetSecret,
      type: "connection.crossplane.io/v1alpha1",
      stringData: { user: "ada", password: "hunter2", extra: "never" },
    });
    const connectionDetails = ["user", "password", "extra"].map((key) => ({ fromConnectionSecretKey: key }));
    desired = (io) => {
      const resource = widget("secrets-a", { writeConnectionSecretToRef: widgetSecret });
      io.desired = { resources: [{ name: "a", resource, connectionDetails, readinessChecks: [{ type: "None" }] }] };
    };
    await world.reconcile("secrets");
    await world.reconcile("secrets");
    expect(given?.observed.resources?.[0]).toMatchObject({
      name: "a",
      connectionDetails: [
        { name: "extra", value: "never" },
        { name: "password", value: "hunter2" },
        { name: "user", value: "ada" },
      ],
    });
    expect(given?.observed.resources?.[0]?.resource.metadata).not.toHaveProperty("managedFields");
    const read = () => world.find("v1", "Secret", "conn", "xfn-system");
    const secret = await read();
    expect(secret).toMatchObject({
      type: "connection.crossplane.io/v1alpha1",
      data: { user: Buffer.from("ada").toString("base64"), password: Buffer.from("hunter2").toString("base64") },
    });
    expect(secret?.["data"]).not.toHaveProperty("extra");
    expect(secret?.metadata["ownerReferences"]).toMatchObject([{ name: "secrets", controller: true }]);
    expect((await world.xr("secrets"))["status"]).toHaveProperty("connectionDetails.lastPublishedTime");
    await world.reconcile("secrets");
    expect(world.writes()).toEqual([]);
    expect(given?.observed.composite?.connectionDetails).toEqual([
      { name: "password", value: "hunter2" },
      { name: "user", value: "ada" },
    ]);
    // It is created again after a deletion.
    await world.client.delete({ apiVersion: "v1", kind: "Secret", ...place });
    await world.reconcile("secrets");
    expect((await read())?.["data"]).toHaveProperty("password");
    // A key that is no longer published is removed; another writer's stays.
    await world.client.patch({ apiVersion: "v1", kind: "Secret", ...place }, "merge", { data: { theirs: "eA==" } });
    connectionDetails.splice(0, 1);
    await world.reconcile("secrets");
    expect(Object.keys((await read())?.["data"] as JsonObject).toSorted()).toEqual(["password", "theirs"]);
    const reported = JSON.stringify([world.events, world.logged, await world.xr("secrets")]);
    expect(reported).not.toContain("hunter2");
    expect(reported).not.toContain(Buffer.from("hunter2").toString("base64"));
  });

  test("a connection secret of another owner is refused, and stays as it is", async () => {
    const place = { name: "taken", namespace: "xfn-system" };
    await world.client.create({ apiVersion: "v1", kind: "Secret", metadata: place, stringData: { a: "b" } });
    await world.create("taker", { writeConnectionSecretToRef: place });
    desired = wants({}, { status: { set: true } });
    await expect(world.reconcile("taker")).rejects.toThrow(expect.objectContaining({ code: "NotControllable" }));
    expect(await conditionOf("taker", "Synced")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^NotControllable: /),
    });
    expect((await world.find("v1", "Secret", "taken"))?.["data"]).toEqual({ a: "Yg==" });
    expect(given?.observed.composite).not.toHaveProperty("connectionDetails");
  });

  test("the server's message about a refused Secret is not repeated", async () => {
    await world.create("quoted");
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "q", namespace: "xfn-system" } };
    const allowed = { allowComposedSecrets: true };
    desired = wants({ a: { ...secret, data: { "bad key": Buffer.from("hunter2").toString("base64") } } });
    const refused = world.reconcile("quoted", allowed);
    await expect(refused).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
    desired = wants({ a: { ...secret, stringData: { key: { nested: "hunter2" } } } });
    const error: unknown = await world.reconcile("quoted", allowed).catch((thrown: unknown) => thrown);
    const reported = JSON.stringify([world.events, world.logged, await world.xr("quoted"), String(error)]);
    expect(reported).toContain("cannot apply composed resource");
    expect(reported).not.toContain("hunter2");
    expect((error as Error).cause).toBeUndefined();
  });

  test("the runner gets pull secrets of the own and of allowed namespaces and of the own service account, and no others", async () => {
    await server.kubectl(["create", "namespace", "allowed"]);
    const pull = async (namespace: string, name: string, password: string): Promise<void> => {
      const config = { auths: { "registry.example.org": { username: "ada", password } } };
      await world.client.create({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name, namespace },
        type: "kubernetes.io/dockerconfigjson",
        stringData: { ".dockerconfigjson": JSON.stringify(config) },
      });
    };
    await pull("xfn-system", "own", "p1");
    await pull("allowed", "other", "p2");
    await pull("foreign", "stolen", "p3");
    await world.create("pulls");
    const image = "registry.example.org/fn:v1";
    const pulling = inProcessRunner({ [image]: (bytes, how) => ((options = how), bytes) });
    const context = { runner: pulling };
    const auth = async (imagePullSecrets: JsonObject[]): Promise<unknown> => {
      world.compose({ functions: [{ ...FUNCTION, container: { image, imagePullSecrets } }] });
      options = undefined;
      await world.reconcile("pulls", context);
      return (options as RunOptions | undefined)?.auth;
    };
    expect(await auth([{ name: "own" }])).toEqual({ username: "ada", password: "p1" });
    expect(await auth([{ name: "other", namespace: "allowed" }])).toEqual({ username: "ada", password: "p2" });
    expect(await auth([{ name: "missing" }])).toBeUndefined();
    expect(world.events.map(({ message }) => message).join("\n")).toContain("xfn-system/missing");
    await expect(auth([{ name: "stolen", namespace: "foreign" }])).rejects.toThrow("--pull-secret-namespaces");
    expect(options).toBeUndefined();
    expect(await conditionOf("pulls", "Synced")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^PullSecret: /),
    });
    await world.client.create({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "xfn", namespace: "xfn-system" },
      imagePullSecrets: [{ name: "own" }],
    });
    world.restart();
    expect(await auth([])).toEqual({ username: "ada", password: "p1" });
    expect(JSON.stringify([world.events, world.logged])).not.toMatch(/p1|p2|p3/);
  });

  test("a webhook is called on the hosts that the operator names, and on no other", async () => {
    const webhook = (url: string): void =>
      world.compose({ functions: [{ name: "step", type: "Webhook", webhook: { url } }] });
    await world.create("hooked");
    desired = (io) => {
      io.desired = { ...io.desired, resources: [{ name: "a", resource: widget("hooked-a") }] };
    };
    webhook("https://fn.example.org/path");
    await world.reconcile("hooked");
    expect(await conditionOf("hooked", "Synced")).toMatchObject({ status: "True" });
    expect(options).toMatchObject({ step: "step at https://fn.example.org/path" });
    options = undefined;
    for (const url of ["https://other.example.com/", "https://badexample.org/", "https://example.org/"]) {
      webhook(url);
      await expect(world.reconcile("hooked")).rejects.toThrow("--webhook-hosts");
      expect(await conditionOf("hooked", "Synced")).toMatchObject({
        status: "False",
        reason: "ReconcileError",
        message: expect.stringMatching(/^WebhookNotAllowed: /),
      });
    }
    expect(options).toBeUndefined();
  });

  test("a step is skipped while its guard is false, and its objects stay", async () => {
    await world.create("guarded", { size: 5 });
    world.compose({ functions: [{ ...FUNCTION, when: "observed.composite.resource.spec.size > 3" }] });
    desired = wants({ a: widget("guarded-a", { size: 5 }) });
    await world.reconcile("guarded");
    expect((await find("guarded-a"))?.["spec"]).toEqual({ size: 5 });
    await world.client.patch({ ...XR, name: "guarded" }, "merge", { spec: { size: 2 } });
    given = undefined;
    await world.reconcile("guarded");
    expect(given).toBeUndefined();
    expect((await find("guarded-a"))?.["spec"]).toEqual({ size: 5 });
    expect(await conditionOf("guarded", "Synced")).toMatchObject({ status: "True" });
    world.compose({ functions: [{ ...FUNCTION, when: "observed.composite.resource.spec.none > 3" }] });
    await expect(world.reconcile("guarded")).rejects.toThrow("no such key: none");
    expect(await conditionOf("guarded", "Synced")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^WhenFailed: /),
    });
  });

  test("with schema: Strict, what does not match the CRDs of the cluster is named, and nothing is applied", async () => {
    await world.create("strict");
    world.compose({ functions: [{ ...FUNCTION, schema: "Strict" }] });
    desired = wants({
      a: widget("strict-a", { size: 5 }),
      b: widget("strict-b", { sise: 5, size: 2000 }),
      c: { apiVersion: "unknown.example.org/v1", kind: "Unknown", metadata: { name: "strict-c" } },
    });
    await expect(world.reconcile("strict")).rejects.toThrow("(schema: Strict)");
    const { message } = await conditionOf("strict", "Synced");
    expect(message).toMatch(/^InvalidDesired: /);
    expect(message).toContain('step "step": ');
    expect(message).toContain('desired.resources "b" (Widget): spec.size: ');
    expect(message).toContain('desired.resources "b" (Widget): spec.sise: unknown field');
    expect(message).not.toContain('"a"');
    expect(message).not.toContain("2000");
    expect(await find("strict-a")).toBeUndefined();
    desired = wants({ a: widget("strict-a", { size: 5 }) });
    await world.reconcile("strict");
    expect((await find("strict-a"))?.["spec"]).toEqual({ size: 5 });
  });

  describe("in containers", needs("crun"), () => {
    test("a function in an image composes, and a failing one is reported with its step", async () => {
      await using workspace = await Workspace.create();
      const answer: JsonObject = {
        apiVersion: "apiextensions.crossplane.io/v1alpha1",
        kind: "FunctionIO",
        desired: {
          composite: { resource: { status: { from: "a container" } } },
          resources: [{ name: "a", resource: widget("containers-a", { size: 7 }) }],
        },
      };
      const script = `#!/bin/sh\ngrep -q refuse && exit 3\ncat <<'END'\n${printJson(answer)}\nEND\n`;
      await workspace.write("fn/function", script, { mode: 0o755 });
      const built = await workspace.xfn(["build", workspace.path("fn"), "-t", "test/composes"]);
      expect(built.stderr, built.stdout).toBeDefined();
      expect(built.code).toBe(0);
      const containers = { runner: await runnerOf(workspace) };
      try {
        world.compose({ functions: [{ ...FUNCTION, container: { image: "test/composes" } }] });
        await world.create("containers");
        await world.reconcile("containers", containers);
        expect((await find("containers-a"))?.["spec"]).toEqual({ size: 7 });
        expect((await world.xr("containers"))["status"]).toMatchObject({ from: "a container" });
        await world.reconcile("containers", containers);
        expect(world.writes()).toEqual([]);
        await world.client.patch({ ...XR, name: "containers" }, "merge", { spec: { please: "refuse" } });
        await expect(world.reconcile("containers", containers)).rejects.toThrow();
        expect(await conditionOf("containers", "Synced")).toMatchObject({
          status: "False",
          reason: "ReconcileError",
          message: expect.stringMatching(/^RunFailed: /),
        });
        expect((await conditionOf("containers", "Synced"))["message"]).toContain('step "step": ');
        expect((await find("containers-a"))?.["spec"]).toEqual({ size: 7 });
      } finally {
        await containers.runner.close();
      }
    });
  });
});
