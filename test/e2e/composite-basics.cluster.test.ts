import type { JsonObject } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { installKinds, WIDGET_CRD } from "../harness/composite-kinds.ts";
import { type CompositeWorld, compositeWorld } from "../harness/composites.ts";
import { needs } from "../harness/needs.ts";

// One XR at a time on a real API server: its requests, and the resulting objects.

const RESPONSIVE = { Responsive: "True WatchCircuitClosed" };
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
    server = await startApiServer({ users: ["ada"] });
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
    const list = ((status as JsonObject)["conditions"] ?? []) as Record<string, string>[];
    return Object.fromEntries(list.map((one) => [one["type"], `${one["status"]} ${one["reason"]}`]));
  };

  test("with more resources than it can refer to creates none, and says so", async () => {
    // etcd accepts objects of 1.5 MiB.
    world.compose({ resources: Array.from({ length: 20_000 }, (_, index) => template(`r${index}`)) });
    await world.create("many");
    await expect(world.reconcile("many")).rejects.toMatchObject({
      code: "TooManyResources",
      retryable: false,
      message: expect.stringMatching(/^the XR is too large with its references to 20000 composed resources: /),
    });
    expect(await conditions("many")).toMatchObject({ Synced: "False ReconcileError" });
    expect(await widgets("many")).toEqual([]);
  });

  test("of three resources takes five requests to create, one more when they are ready, and none after", async () => {
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
    expect(await conditions("three")).toEqual({
      ...RESPONSIVE,
      Synced: "True ReconcileSuccess",
      Ready: "False Creating",
    });
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
    expect(await conditions("three")).toEqual({
      ...RESPONSIVE,
      Synced: "True ReconcileSuccess",
      Ready: "True Available",
    });
    expect(outcome).toBeUndefined();

    await world.reconcile("three");
    expect(world.requests()).toEqual([]);
    world.restart();
    await world.reconcile("three");
    expect(world.requests()).toEqual([]);
  });

  const owner = async (name: string): Promise<JsonObject> => {
    const { apiVersion, kind, metadata } = await world.xr(name);
    return { apiVersion, kind, name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
  };
  const synced = async (name: string): Promise<JsonObject> => {
    const { status } = await world.xr(name);
    const list = (status as JsonObject)["conditions"] as JsonObject[];
    return list.find((one) => one["type"] === "Synced") ?? {};
  };

  test("a field that leaves the template is removed; fields of other writers stay", async () => {
    world.compose({ resources: [template("a", { labels: { ours: "1", old: "1" } })] });
    await world.create("fields");
    await world.reconcile("fields");
    const [made] = (await widgets("fields")) as { metadata: { name: string } }[];
    const name = made?.metadata.name ?? "";
    await world.client.patch({ ...WIDGET, name }, "merge", { spec: { labels: { theirs: "1" } } });
    world.compose({ resources: [template("a", { labels: { ours: "2" } })] });
    await world.reconcile("fields");
    expect((await world.find(WIDGET.apiVersion, WIDGET.kind, name))?.["spec"]).toMatchObject({
      labels: { ours: "2", theirs: "1" },
    });
    // Another writer changes a field of the controller: it is restored.
    await world.client.patch({ ...WIDGET, name }, "merge", { spec: { labels: { ours: "3" } } });
    await world.reconcile("fields");
    expect(world.requests()).toEqual(["apply widgets.things.example.org"]);
    expect((await world.find(WIDGET.apiVersion, WIDGET.kind, name))?.["spec"]).toMatchObject({
      labels: { ours: "2", theirs: "1" },
    });
    // Another writer removes it.
    await world.client.patch({ ...WIDGET, name }, "merge", { spec: { labels: { ours: null } } });
    await world.reconcile("fields");
    expect((await world.find(WIDGET.apiVersion, WIDGET.kind, name))?.["spec"]).toMatchObject({ labels: { ours: "2" } });
    await world.reconcile("fields");
    expect(world.requests()).toEqual([]);
  });

  test("a value that the server stores in another form is sent once", async () => {
    const base = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {},
      spec: {
        containers: [{ name: "c", image: "i", resources: { limits: { cpu: "1000m", memory: "1024Mi" } } }],
      },
    };
    const patches = [
      { type: "FromCompositeFieldPath", fromFieldPath: "spec.namespace", toFieldPath: "metadata.namespace" },
    ];
    world.compose({ resources: [{ name: "pod", base, patches, readinessChecks: [{ type: "None" }] }] });
    await world.create("quantities", { namespace: "default" });
    await world.reconcile("quantities");
    expect(world.requests()).toContain("apply pods");
    const { spec } = await world.xr("quantities");
    expect((spec as JsonObject)["resourceRefs"]).toMatchObject([{ kind: "Pod", namespace: "default" }]);
    // Ready as soon as it exists: reported at once.
    expect(await conditions("quantities")).toMatchObject({ Ready: "True Available" });
    await world.reconcile("quantities");
    expect(world.requests()).toEqual([]);
    world.restart();
    await world.reconcile("quantities");
    expect(world.requests()).toEqual(["apply pods"]);
    await world.reconcile("quantities");
    expect(world.requests()).toEqual([]);
  });

  test("an entry that is no longer desired is deleted, and its reference stays until it is gone", async () => {
    world.compose({ resources: [template("a"), template("b")] });
    await world.create("dropped");
    await world.reconcile("dropped");
    const made = (await widgets("dropped")) as { metadata: { name: string; annotations: JsonObject } }[];
    const b = made.find(({ metadata }) => metadata.annotations["crossplane.io/composition-resource-name"] === "b");
    const name = b?.metadata.name ?? "";
    await world.client.patch({ ...WIDGET, name }, "merge", { metadata: { finalizers: ["example.org/slow"] } });
    world.compose({ resources: [template("a")] });
    await world.reconcile("dropped");
    await world.reconcile("dropped");
    expect(world.requests()).toEqual([]);
    expect((await world.find(WIDGET.apiVersion, WIDGET.kind, name))?.metadata["deletionTimestamp"]).toBeDefined();
    expect(((await world.xr("dropped"))["spec"] as JsonObject)["resourceRefs"]).toHaveLength(2);
    await world.client.patch({ ...WIDGET, name }, "merge", { metadata: { finalizers: null } });
    await world.reconcile("dropped");
    expect(((await world.xr("dropped"))["spec"] as JsonObject)["resourceRefs"]).toHaveLength(1);
    await world.reconcile("dropped");
    expect(world.requests()).toEqual([]);
  });

  test("an object of another controller is neither changed nor deleted, despite a reference to it", async () => {
    await world.create("other");
    const foreign = {
      ...WIDGET,
      metadata: {
        name: "foreign",
        ownerReferences: [await owner("other")],
        annotations: { "crossplane.io/composition-resource-name": "a" },
      },
      spec: { size: 5 },
    };
    await world.client.create(foreign);
    world.compose({ resources: [template("a")] });
    await world.create("forger", { resourceRefs: [{ ...WIDGET, name: "foreign" }] });
    await world.reconcile("forger");
    expect(await widgets("forger")).toHaveLength(1);
    expect((await world.find(WIDGET.apiVersion, WIDGET.kind, "foreign"))?.["spec"]).toEqual({ size: 5 });
    const patches = [{ type: "FromCompositeFieldPath", fromFieldPath: "spec.name", toFieldPath: "metadata.name" }];
    world.compose({ resources: [template("a"), template("b", {}, { patches })] });
    await world.create("thief", { name: "foreign" });
    await expect(world.reconcile("thief")).rejects.toThrow(expect.objectContaining({ code: "NotControllable" }));
    expect(await synced("thief")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^NotControllable: /),
    });
    expect((await world.find(WIDGET.apiVersion, WIDGET.kind, "foreign"))?.["spec"]).toEqual({ size: 5 });
    // The other entry was created nevertheless.
    expect(await widgets("thief")).toHaveLength(1);
  });

  test("a resource that lost its controller reference stays recorded, is reported, and is not deleted", async () => {
    const named = [{ type: "FromCompositeFieldPath", fromFieldPath: "spec.name", toFieldPath: "metadata.name" }];
    world.compose({ resources: [template("a", {}, { patches: named })] });
    await world.create("stripped", { name: "stripped-a" });
    await world.reconcile("stripped");
    await world.client.patch({ ...WIDGET, name: "stripped-a" }, "merge", { metadata: { ownerReferences: null } });
    world.compose({ resources: [] });
    world.events.length = 0;
    await world.reconcile("stripped");
    await world.reconcile("stripped");
    expect(
      (await world.find(WIDGET.apiVersion, WIDGET.kind, "stripped-a"))?.metadata["deletionTimestamp"],
    ).toBeUndefined();
    expect(((await world.xr("stripped"))["spec"] as JsonObject)["resourceRefs"]).toHaveLength(1);
    expect(world.events.filter(({ type }) => type === "Warning")).toHaveLength(2);
    expect(world.requests()).toEqual([]);
  });

  test("fields that Crossplane wrote to a composed resource are removed with their template's fields", async () => {
    const patches = [{ type: "FromCompositeFieldPath", fromFieldPath: "spec.name", toFieldPath: "metadata.name" }];
    await world.create("taken-over", { name: "taken-over" });
    const base = { ...WIDGET, spec: { size: 1 } };
    await world.client.create(
      {
        ...WIDGET,
        metadata: {
          name: "taken-over",
          generateName: "taken-",
          labels: { old: "x" },
          annotations: {
            "crossplane.io/composition-resource-name": "a",
            "crossplane.io/external-name": "external",
          },
          ownerReferences: [await owner("taken-over")],
        },
        spec: { size: 2, labels: { dropped: "x" } },
      },
      { fieldManager: "crossplane" },
    );
    await world.client.patch({ ...WIDGET, name: "taken-over" }, "merge", { spec: { ports: [{ port: 1 }] } });
    world.compose({ resources: [{ name: "a", base, patches }] });
    await world.reconcile("taken-over");
    const after = await world.find(WIDGET.apiVersion, WIDGET.kind, "taken-over");
    expect(after?.["spec"]).toEqual({ size: 1, ports: [{ port: 1, protocol: "TCP" }] });
    expect(after?.metadata.annotations).toMatchObject({ "crossplane.io/external-name": "external" });
    expect(after?.metadata.labels).not.toHaveProperty("old");
    world.requests();
    await world.reconcile("taken-over");
    expect(world.writes()).toEqual([]);
  });

  test("with a connection secret it takes six requests to create, and five when it is ready", async () => {
    const place = { name: "published", namespace: "default" };
    const theirs = { name: "widget-details", namespace: "default" };
    const details = { connectionDetails: ["user", "password"].map((key) => ({ fromConnectionSecretKey: key })) };
    const writes = { writeConnectionSecretToRef: theirs };
    world.compose({ resources: [template("a", writes, details), template("b", writes), template("c", writes)] });
    await world.create("publishes", { writeConnectionSecretToRef: place });
    await world.reconcile("publishes");
    expect(world.requests()).toHaveLength(6);
    await world.client.create({
      apiVersion: "v1",
      kind: "Secret",
      metadata: theirs,
      type: "connection.crossplane.io/v1alpha1",
      stringData: { user: "ada", password: "secret" },
    });
    for (const { metadata } of (await widgets("publishes")) as { metadata: { name: string } }[])
      await makeReady(metadata.name);
    await world.reconcile("publishes");
    // The time of publishing has an owner of its own, so that Crossplane's core can apply the rest of the status.
    const reads = ["get secrets", "get secrets"];
    const changes = ["apply secrets", "apply xdatabases.example.org", "patch xdatabases.example.org"];
    expect(world.requests()).toEqual([...reads, ...changes]);
    await world.reconcile("publishes");
    expect(world.writes()).toEqual([]);
    expect(await conditions("publishes")).toMatchObject({ Ready: "True Available" });
  });

  test("a paused XR is ignored, reports it, and is composed when it is resumed", async () => {
    world.compose({ resources: [template("a")] });
    await world.create("paused", {}, { annotations: { "crossplane.io/paused": "true" } });
    await world.reconcile("paused");
    expect(await conditions("paused")).toEqual({ ...RESPONSIVE, Synced: "False ReconcilePaused" });
    await world.reconcile("paused");
    expect(world.requests()).toEqual([]);
    expect(await widgets("paused")).toEqual([]);
    const reference = { apiVersion: "example.org/v1", kind: "XDatabase", name: "paused" };
    await world.client.patch(reference, "merge", { metadata: { annotations: { "crossplane.io/paused": null } } });
    await world.reconcile("paused");
    expect(await conditions("paused")).toMatchObject({ Synced: "True ReconcileSuccess" });
  });

  test("an external store for its connection details is reported as unsupported", async () => {
    world.compose({ resources: [template("a")] });
    await world.create("external", { publishConnectionDetailsTo: { name: "details" } });
    world.events.length = 0;
    await world.reconcile("external");
    await world.reconcile("external");
    expect(world.events.filter(({ reason }) => reason === "PublishConnectionSecret")).toEqual([
      expect.objectContaining({ type: "Warning", message: expect.stringContaining("writeConnectionSecretToRef") }),
    ]);
    expect(await conditions("external")).toMatchObject({ Synced: "True ReconcileSuccess" });
  });

  test("a kind that is not served is reported; the other entries are created, and nothing is deleted", async () => {
    world.compose({ resources: [template("a"), template("b")] });
    await world.create("unserved");
    await world.reconcile("unserved");
    const gone = { apiVersion: "things.example.org/v1", kind: "Gadget", spec: {} };
    world.compose({ resources: [{ name: "x", base: gone }, template("c")] });
    await expect(world.reconcile("unserved")).rejects.toThrow(expect.objectContaining({ code: "KindNotServed" }));
    expect(await synced("unserved")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^KindNotServed: /),
    });
    expect((await synced("unserved"))["message"]).toContain("Gadget");
    expect(await widgets("unserved")).toHaveLength(3);
    // Reported once, written once.
    const reported = world.events.length;
    await expect(world.reconcile("unserved")).rejects.toThrow();
    expect(world.requests()).toEqual([]);
    expect(world.events.length).toBe(reported);
    world.compose({ resources: [template("a"), template("b"), template("c")] });
    await world.reconcile("unserved");
    expect(await conditions("unserved")).toMatchObject({ Synced: "True ReconcileSuccess" });
  });

  test("an entry of a kind that is not served yet is created once it is", async () => {
    const names = { kind: "Latecomer", plural: "latecomers", singular: "latecomer", listKind: "LatecomerList" };
    const latecomer = { apiVersion: "things.example.org/v1", kind: "Latecomer", spec: { size: 1 } };
    world.compose({ resources: [{ name: "late", base: latecomer }] });
    await world.create("early");
    await expect(world.reconcile("early")).rejects.toThrow(expect.objectContaining({ code: "KindNotServed" }));
    const crd = { ...WIDGET_CRD, metadata: { name: "latecomers.things.example.org" } };
    await server.apply({ ...crd, spec: { ...(WIDGET_CRD["spec"] as JsonObject), names } });
    await expect.poll(() => world.reconcile("early").then(() => "done", String), { timeout: 30_000 }).toBe("done");
    expect(await conditions("early")).toMatchObject({ Synced: "True ReconcileSuccess" });
    expect((await world.xr("early"))["spec"]).toMatchObject({ resourceRefs: [{ kind: "Latecomer" }] });
  });

  test("an RBAC refusal is reported with kind and verb; the entry is created when access is granted", async () => {
    const may = (resources: string[], verbs: string[]): JsonObject => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: resources[0] ?? "" },
      rules: [{ apiGroups: ["example.org", "things.example.org"], resources, verbs }],
    });
    const binding = (role: string): JsonObject => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: role },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "User", name: "ada" }],
    });
    await server.apply(may(["xdatabases", "xdatabases/status"], ["*"]), may(["widgets"], ["get", "list", "watch"]));
    await server.apply(binding("xdatabases"), binding("widgets"));
    const hers = await compositeWorld(server, { as: "ada" });
    try {
      hers.compose({ resources: [template("a")] });
      await hers.create("refused-by-rbac");
      await expect(hers.reconcile("refused-by-rbac")).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
      expect(await synced("refused-by-rbac")).toMatchObject({
        status: "False",
        reason: "ReconcileError",
        message: expect.stringMatching(/^Forbidden: /),
      });
      expect((await synced("refused-by-rbac"))["message"]).toMatch(/"a": .*ada.*widgets.*\(Widget /);
      await server.apply(may(["widgets"], ["get", "list", "watch", "create", "patch"]));
      await expect
        .poll(() => hers.reconcile("refused-by-rbac").then(() => "done", String), { timeout: 20_000 })
        .toBe("done");
      expect(await synced("refused-by-rbac")).toMatchObject({ status: "True" });
      expect(await widgets("refused-by-rbac")).toHaveLength(1);
    } finally {
      await hers.stop();
    }
  });

  test("a schema violation is reported with its field, and the other entries are created", async () => {
    const none = { readinessChecks: [{ type: "None" }] };
    world.compose({ resources: [template("a", { size: 5000 }, none), template("b", {}, none)] });
    await world.create("invalid");
    await expect(world.reconcile("invalid")).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
    expect((await synced("invalid"))["message"]).toMatch(/"a".*spec\.size/);
    expect(await conditions("invalid")).toMatchObject({ Ready: "False Creating" });
    expect(await widgets("invalid")).toHaveLength(1);
  });

  test("a failing patch to the XR is reported, and nothing changes until it is fixed", async () => {
    const toStatus = (transforms: JsonObject[]): JsonObject => ({
      patches: [{ type: "ToCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "status.size", transforms }],
    });
    const text = { type: "string", string: { type: "Format", fmt: "%d GB" } };
    world.compose({ resources: [template("a", { size: 1 }, toStatus([text]))] });
    await world.create("unpatched");
    await world.reconcile("unpatched");
    await world.reconcile("unpatched");
    expect((await world.xr("unpatched"))["status"]).toMatchObject({ size: "1 GB" });
    world.writes();
    const map = { type: "map", map: { "2": "two" } };
    world.compose({ resources: [template("b", { size: 2 }), template("a", { size: 2 }, toStatus([map]))] });
    await expect(world.reconcile("unpatched")).rejects.toThrow(expect.objectContaining({ code: "TemplatesFailed" }));
    expect(await synced("unpatched")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^TemplatesFailed: /),
    });
    expect((await synced("unpatched"))["message"]).toMatch(/spec\.resources\[1\]\.patches\[0\].*\(map\)/);
    // It records the new revision, and the condition.
    expect(world.writes()).toEqual(["apply xdatabases.example.org", "apply xdatabases.example.org"]);
    expect((await world.xr("unpatched"))["status"]).toMatchObject({ size: "1 GB" });
    expect(await widgets("unpatched")).toHaveLength(1);
    world.compose({ resources: [template("b", { size: 2 }), template("a", { size: 2 }, toStatus([text]))] });
    await world.reconcile("unpatched");
    expect(await synced("unpatched")).toMatchObject({ status: "True" });
    expect(await widgets("unpatched")).toHaveLength(2);
  });

  test("a Composition that is missing, or has an environment for a pipeline or disabled functions, is reported, and composes nothing", async () => {
    await world.create("refused");
    const pipeline = [{ step: "f", functionRef: { name: "f" } }];
    world.compose({ mode: "Pipeline", pipeline, environment: { defaultData: { size: 1 } } });
    await expect(world.reconcile("refused")).rejects.toThrow();
    expect(await synced("refused")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^EnvironmentUnsupported: /),
    });
    world.compose({ functions: [{ name: "f", type: "Container", container: { image: "f" } }] });
    await expect(world.reconcile("refused")).rejects.toThrow();
    expect(await synced("refused")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^FunctionsDisabled: /),
    });
    // The selection is recorded before any run succeeds, as in Crossplane.
    expect((await world.xr("refused"))["spec"]).toMatchObject({ compositionRevisionRef: expect.anything() });
    expect(await widgets("refused")).toEqual([]);
  });
});
