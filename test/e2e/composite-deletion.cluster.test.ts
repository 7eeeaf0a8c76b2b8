import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@xfn/json";
import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { installKinds, WIDGET_CRD } from "../harness/composite-kinds.ts";
import { type CompositeWorld, compositeWorld } from "../harness/composites.ts";
import { needs } from "../harness/needs.ts";

// The deletion of a composite resource, on a real API server with its garbage collector.

const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };
const XR = { apiVersion: "example.org/v1", kind: "XDatabase" };

function readyOf(xr: LiveObject | undefined): JsonObject | undefined {
  const conditions = (xr?.["status"] as JsonObject | undefined)?.["conditions"] as JsonObject[] | undefined;
  return conditions?.find(({ type }) => type === "Ready");
}

/** A client whose server does not list a kind. */
function unlisting(client: Client, unlisted: string): Client {
  return {
    ...client,
    kind: (apiVersion, kind, options) =>
      kind === unlisted
        ? Promise.reject(new ApiError("KindNotServed", `the API server does not serve kind ${kind} of ${apiVersion}`))
        : client.kind(apiVersion, kind, options),
  };
}

describe("a composite resource that is deleted", needs("api-server"), () => {
  let server: TestApiServer;
  let world: CompositeWorld;

  beforeAll(async () => {
    server = await startApiServer();
    await installKinds(server);
    // Otherwise it may know the XRs before the widgets, and end a foreground deletion early.
    await server.restartControllerManager();
    await server.kubectl(["create", "namespace", "xfn-system"]);
    world = await compositeWorld(server);
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });

  const named = [{ type: "FromCompositeFieldPath", fromFieldPath: "spec.name", toFieldPath: "metadata.name" }];
  const find = (name: string): Promise<LiveObject | undefined> => world.find(WIDGET.apiVersion, WIDGET.kind, name);
  const findXr = (name: string): Promise<LiveObject | undefined> => world.find(XR.apiVersion, XR.kind, name);
  /** An XR with one widget of its name, which has a finalizer. */
  const composed = async (name: string, spec: JsonObject = {}): Promise<void> => {
    world.compose({ resources: [{ name: "a", base: { ...WIDGET, spec: { size: 1 } }, patches: named }] });
    await world.create(name, { ...spec, name });
    await world.reconcile(name);
  };
  const hold = (name: string, finalizers: string[] | null): Promise<unknown> =>
    world.client.patch({ ...WIDGET, name }, "merge", { metadata: { finalizers } });

  test("in the background: it is gone after the deletion of its resources has begun", async () => {
    await composed("background", { writeConnectionSecretToRef: { name: "background", namespace: "xfn-system" } });
    await world.client.patch(
      { ...WIDGET, name: "background" },
      "merge",
      { status: { conditions: [{ type: "Ready", status: "True" }] } },
      { subresource: "status" },
    );
    await world.reconcile("background");
    expect(await world.find("v1", "Secret", "background")).toBeDefined();
    await hold("background", ["example.org/slow"]);
    await world.client.delete({ ...XR, name: "background" });
    await world.reconcile("background");
    expect(await findXr("background")).toBeUndefined();
    expect((await find("background"))?.metadata["deletionTimestamp"]).toBeDefined();
    expect(await world.find("v1", "Secret", "background")).toBeUndefined();
    await hold("background", null);
    expect(await find("background")).toBeUndefined();
    // Once more, without the objects.
    expect(await world.reconcile("background")).toBeUndefined();
  });

  test("in the foreground: it remains, and reports it, until its resources are gone", async () => {
    await composed("foreground");
    await hold("foreground", ["example.org/slow"]);
    await world.client.delete({ ...XR, name: "foreground" }, { propagationPolicy: "Foreground" });
    const outcome = await world.reconcile("foreground");
    expect(outcome?.requeueAfterMs).toBeGreaterThan(0);
    const xr = await findXr("foreground");
    expect(xr?.metadata["finalizers"]).toContain("composite.apiextensions.crossplane.io");
    expect(readyOf(xr)).toMatchObject({ status: "False", reason: "Deleting" });
    await world.reconcile("foreground");
    expect(world.writes()).toEqual([]);
    await hold("foreground", null);
    // The garbage collector removes its finalizer concurrently: the later write gets a conflict.
    while ((await world.reconcile("foreground")) !== undefined) await sleep(20);
    expect((await findXr("foreground"))?.metadata["finalizers"] ?? []).not.toContain(
      "composite.apiextensions.crossplane.io",
    );
  });

  test("with the policy Orphan it leaves its resources", async () => {
    await composed("orphan");
    await world.client.delete({ ...XR, name: "orphan" }, { propagationPolicy: "Orphan" });
    await world.reconcile("orphan");
    expect(world.writes()).toEqual(["patch xdatabases.example.org"]);
    expect((await find("orphan"))?.metadata["deletionTimestamp"]).toBeUndefined();
  });

  // The garbage collector no longer finds the XR after its definition has removed its kind.
  test("its connection secret is deleted before it", async () => {
    await composed("published", { writeConnectionSecretToRef: { name: "published", namespace: "xfn-system" } });
    await world.client.patch(
      { ...WIDGET, name: "published" },
      "merge",
      { status: { conditions: [{ type: "Ready", status: "True" }] } },
      { subresource: "status" },
    );
    await world.reconcile("published");
    expect(await world.find("v1", "Secret", "published")).toBeDefined();
    const { finalizers } = (await world.xr("published")).metadata;
    await world.client.patch({ ...XR, name: "published" }, "merge", {
      metadata: { finalizers: [...(finalizers as string[]), "example.org/hold"] },
    });
    await world.client.delete({ ...XR, name: "published" });
    await world.reconcile("published");
    expect((await findXr("published"))?.metadata["finalizers"]).toEqual(["example.org/hold"]);
    expect(await world.find("v1", "Secret", "published")).toBeUndefined();
    await world.client.patch({ ...XR, name: "published" }, "merge", { metadata: { finalizers: null } });
  });

  test("an object that it refers to and does not control stays", async () => {
    await composed("forger");
    await world.client.create({ ...WIDGET, metadata: { name: "users" }, spec: {} });
    await world.client.patch({ ...XR, name: "forger" }, "merge", {
      spec: {
        resourceRefs: [
          { ...WIDGET, name: "forger" },
          { ...WIDGET, name: "users" },
          { apiVersion: "nowhere.example.org/v1", kind: "Gone", name: "x" },
          { ...WIDGET, name: "never-was" },
        ],
      },
    });
    await world.client.delete({ ...XR, name: "forger" });
    await world.reconcile("forger");
    expect((await find("users"))?.metadata["deletionTimestamp"]).toBeUndefined();
    expect(await find("forger")).toBeUndefined();
    expect(await findXr("forger")).toBeUndefined();
  });

  test("an invalid name blocks neither its templates, once it is fixed, nor its deletion", async () => {
    world.compose({ resources: [{ name: "a", base: { ...WIDGET, spec: { size: 1 } }, patches: named }] });
    await world.create("slash", {
      name: "a/b",
      writeConnectionSecretToRef: { name: "a/b", namespace: "xfn-system" },
    });
    await expect(world.reconcile("slash")).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
    expect((await world.xr("slash"))["spec"]).not.toHaveProperty("resourceRefs");
    // As an earlier controller recorded it.
    const resourceRefs = [
      ...["a/b", ".."].map((name) => ({ ...WIDGET, name })),
      { ...WIDGET, apiVersion: "a/b/c", name: "x" },
    ];
    await world.client.patch({ ...XR, name: "slash" }, "merge", { spec: { name: "slash", resourceRefs } });
    await world.reconcile("slash");
    expect((await world.xr("slash"))["spec"]).toMatchObject({ resourceRefs: [{ ...WIDGET, name: "slash" }] });
    await world.client.patch({ ...XR, name: "slash" }, "merge", {
      spec: { resourceRefs: [...resourceRefs, { ...WIDGET, name: "slash" }] },
    });
    await world.client.delete({ ...XR, name: "slash" });
    await world.reconcile("slash");
    expect(await find("slash")).toBeUndefined();
    expect(await findXr("slash")).toBeUndefined();
  });

  test("it remains while the server does not list a kind, until its object is deleted", async () => {
    await composed("unlisted");
    await world.client.delete({ ...XR, name: "unlisted" });
    const client = unlisting(world.client, "Widget");
    for (let looks = 0; looks < 2; looks++) {
      await expect(world.reconcile("unlisted", { client })).rejects.toThrow(/cannot delete Widget unlisted/);
    }
    expect((await findXr("unlisted"))?.metadata["finalizers"]).toEqual(["composite.apiextensions.crossplane.io"]);
    expect((await find("unlisted"))?.metadata["deletionTimestamp"]).toBeUndefined();
    await world.reconcile("unlisted");
    expect(await findXr("unlisted")).toBeUndefined();
    expect(await find("unlisted")).toBeUndefined();
  });

  test("an object that is recorded in a version that is no longer served is deleted", async () => {
    await composed("old-version");
    const resourceRefs = [{ ...WIDGET, apiVersion: "things.example.org/v0", name: "old-version" }];
    await world.client.patch({ ...XR, name: "old-version" }, "merge", { spec: { resourceRefs } });
    await hold("old-version", ["example.org/slow"]);
    await world.client.delete({ ...XR, name: "old-version" }, { propagationPolicy: "Foreground" });
    await world.reconcile("old-version");
    expect(readyOf(await findXr("old-version"))?.["message"]).toBe("Waiting for 1 composed resources to be deleted");
    expect((await find("old-version"))?.metadata["deletionTimestamp"]).toBeDefined();
    await hold("old-version", null);
    // The garbage collector removes its finalizer concurrently: the later write gets a conflict.
    while ((await world.reconcile("old-version")) !== undefined) await sleep(20);
    await expect.poll(() => findXr("old-version"), { timeout: 20_000 }).toBeUndefined();
  });

  test("in the foreground it remains until a CRD that is being deleted is gone", async () => {
    const names = { kind: "Gadget", plural: "gadgets", singular: "gadget", listKind: "GadgetList" };
    const crd = { ...WIDGET_CRD, metadata: { name: "gadgets.things.example.org" } };
    await server.apply({ ...crd, spec: { ...(WIDGET_CRD["spec"] as JsonObject), names } });
    await server.kubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd/gadgets.things.example.org"]);
    const gadget = { apiVersion: WIDGET.apiVersion, kind: "Gadget" };
    // Waits until discovery has the kind, which may be later than the condition.
    await server.apply({ ...gadget, metadata: { name: "last", finalizers: ["example.org/slow"] }, spec: {} });
    await composed("crd-going");
    await hold("crd-going", ["example.org/slow"]);
    const resourceRefs = [
      { ...WIDGET, name: "crd-going" },
      { ...gadget, name: "last" },
    ];
    await world.client.patch({ ...XR, name: "crd-going" }, "merge", { spec: { resourceRefs } });
    await world.client.delete({ ...XR, name: "crd-going" }, { propagationPolicy: "Foreground" });
    await server.kubectl(["delete", "--wait=false", "crd", "gadgets.things.example.org"]);
    const waitsFor = async (): Promise<unknown> => {
      await world.reconcile("crd-going", { client: unlisting(world.client, "Gadget") });
      return readyOf(await world.xr("crd-going"))?.["message"];
    };
    expect(await waitsFor()).toBe("Waiting for 2 composed resources to be deleted");
    await world.client.patch({ ...gadget, name: "last" }, "merge", { metadata: { finalizers: null } });
    await server.kubectl(["wait", "--for=delete", "--timeout=60s", "crd/gadgets.things.example.org"]);
    expect(await waitsFor()).toBe("Waiting for 1 composed resources to be deleted");
    await hold("crd-going", null);
  });

  test("an object of another owner that got the name is not deleted", async () => {
    await composed("reused");
    const { uid } = (await world.xr("reused")).metadata;
    await world.client.delete({ ...WIDGET, name: "reused" });
    await world.client.create({ ...WIDGET, metadata: { name: "reused" }, spec: { size: 9 } });
    await world.client.delete({ ...XR, name: "reused" });
    await world.reconcile("reused");
    expect(uid).toBeDefined();
    expect(await findXr("reused")).toBeUndefined();
    expect((await find("reused"))?.["spec"]).toEqual({ size: 9 });
  });

  test("one without a finalizer, or paused, is ignored", async () => {
    await world.create("bare", {}, { finalizers: ["example.org/theirs"] });
    await world.client.delete({ ...XR, name: "bare" });
    await world.reconcile("bare");
    expect(world.requests()).toEqual([]);
    await composed("resting");
    await world.client.patch({ ...XR, name: "resting" }, "merge", {
      metadata: { annotations: { "crossplane.io/paused": "true" } },
    });
    await world.client.delete({ ...XR, name: "resting" });
    await world.reconcile("resting");
    expect(await find("resting")).toBeDefined();
    expect(await findXr("resting")).toBeDefined();
  });
});
