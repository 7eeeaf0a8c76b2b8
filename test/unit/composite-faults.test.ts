import { documentOf } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { type Context, compositeReconciler } from "@xfn/controller";
import { isObject, type JsonObject } from "@xfn/functionio";
import { ApiError, type Cache, type LiveObject, type Outcome } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { DEFINITION } from "../harness/composites.ts";
import { type MemoryClient, memoryClient } from "../harness/memory-client.ts";

// Faults that a real API server cannot be made to show: stale caches, concurrent writes, lost replies.

const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };
const XR_UID = "xr-uid";

const xr = (spec: JsonObject = {}, metadata: JsonObject = {}): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "XDatabase",
  metadata: { name: "xr", uid: XR_UID, resourceVersion: "1", ...metadata },
  spec,
});
const owner = (uid = XR_UID): JsonObject => ({
  apiVersion: "example.org/v1",
  kind: "XDatabase",
  name: "xr",
  uid,
  controller: true,
});
const widget = (name: string, entry: string, metadata: JsonObject = {}): LiveObject => ({
  ...WIDGET,
  metadata: {
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    annotations: { "crossplane.io/composition-resource-name": entry },
    ownerReferences: [owner()],
    ...metadata,
  },
  spec: {},
});
const named = (entry: string, name: string): JsonObject => ({
  name: entry,
  base: { ...WIDGET, spec: { size: 1 } },
  patches: [
    {
      type: "CombineFromComposite",
      combine: { strategy: "string", variables: [{ fromFieldPath: "kind" }], string: { fmt: `${name}%.0s` } },
      toFieldPath: "metadata.name",
    },
  ],
});
const unnamed = (entry: string): JsonObject => ({ name: entry, base: { ...WIDGET, spec: { size: 1 } } });

interface World {
  client: MemoryClient;
  events: string[];
  compose(...resources: JsonObject[]): void;
  /** The content of the caches; undefined: that of the server. */
  seen: { xr?: LiveObject | undefined; composed?: readonly LiveObject[] | undefined };
  reconcile(): Promise<Outcome | undefined>;
  restart(): void;
  titles(): string[];
  now: number;
}

function world(objects: readonly LiveObject[], how: Partial<Context> = {}): World {
  const client = memoryClient(objects, { unserved: ["Gadget"] });
  let resources: JsonObject[] = [];
  let number = 0;
  const events: string[] = [];
  const cacheOf = (list: readonly LiveObject[]): Cache => ({
    get: (name) => list.find(({ metadata }) => metadata.name === name),
    list: () => list,
    byIndex: () => [],
  });
  let revision: LiveObject | undefined;
  const live = (kind: string): LiveObject[] => [...client.objects.values()].filter((one) => one.kind === kind);
  const made: World = {
    client,
    events,
    seen: {},
    now: Date.parse("2026-01-01T00:00:00Z"),
    compose(...given) {
      resources = given;
      number++;
      revision = {
        apiVersion: "apiextensions.crossplane.io/v1",
        kind: "CompositionRevision",
        metadata: {
          name: `c-${number}`,
          uid: `r-${number}`,
          resourceVersion: "1",
          labels: { "crossplane.io/composition-name": "c" },
          ownerReferences: [
            {
              apiVersion: "apiextensions.crossplane.io/v1",
              kind: "Composition",
              name: "c",
              uid: "c",
              controller: true,
            },
          ],
        },
        spec: {
          compositeTypeRef: { apiVersion: "example.org/v1", kind: "XDatabase" },
          resources,
          revision: number,
        },
      };
    },
    reconcile: () => reconciler("xr", new AbortController().signal),
    restart() {
      reconciler = compositeReconciler(context, definition);
    },
    titles: () => client.writes.map(({ verb, object, subresource = "" }) => `${verb} ${object} ${subresource}`.trim()),
  };
  const definition = parseDefinition(documentOf(DEFINITION));
  const composition = (): LiveObject => ({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "c", uid: "c", resourceVersion: "1" },
    spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XDatabase" }, resources },
  });
  const context: Context = {
    client,
    informers: {
      acquire: () => {
        throw new TypeError("not needed");
      },
      peek: (kind) => {
        if (kind.kind === "Composition") return cacheOf([composition()]);
        if (kind.kind === "CompositionRevision") return cacheOf(revision === undefined ? [] : [revision]);
        return cacheOf("xr" in made.seen ? (made.seen.xr === undefined ? [] : [made.seen.xr]) : live("XDatabase"));
      },
      stop: async () => {},
    },
    events: { record: (_, { message }) => void events.push(message), flush: async () => {} },
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    composed: {
      watch: () => {},
      cache: (kind) => cacheOf(made.seen.composed ?? live(kind.kind)),
    },
    namespace: "xfn-system",
    pullSecretNamespaces: [],
    pollIntervalMs: 60_000,
    now: () => made.now,
    ...how,
  };
  let reconciler = compositeReconciler(context, definition);
  return made;
}

const get = (client: MemoryClient, kind: string, name: string): LiveObject | undefined =>
  [...client.objects.values()].find((one) => one.kind === kind && one.metadata.name === name);
const referencesOf = (client: MemoryClient): unknown[] => {
  const spec = get(client, "XDatabase", "xr")?.["spec"];
  const list = isObject(spec) ? spec["resourceRefs"] : undefined;
  return Array.isArray(list) ? list.map((one) => isObject(one) && one["name"]) : [];
};

test("at every write, the XR has the finalizer and the reference before its object is created", async () => {
  const { client, ...w } = world([xr()]);
  w.compose(unnamed("a"), named("b", "b"), unnamed("c"));
  const seen: string[] = [];
  client.beforeWrite = ({ object }) => {
    if (!object.startsWith("Widget/")) return;
    const now = get(client, "XDatabase", "xr");
    expect(now?.metadata["finalizers"]).toEqual(["composite.apiextensions.crossplane.io"]);
    expect(referencesOf(client)).toContain(object.slice("Widget/".length));
    seen.push(object);
  };
  await w.reconcile();
  expect(seen).toHaveLength(3);
});

test("an XR that changed since it was read gets no write and no resource, and is requeued", async () => {
  const old = xr({}, { resourceVersion: "1" });
  const { client, seen, ...w } = world([
    xr({ resourceRefs: [{ ...WIDGET, name: "a1" }] }, { resourceVersion: "5" }),
    widget("a1", "a"),
  ]);
  seen.xr = old;
  seen.composed = [];
  // The old XR has no reference to a1: the entry would get a second object.
  w.compose(named("a", "a2"));
  const outcome = await w.reconcile();
  expect(outcome?.requeueAfterMs).toBeLessThan(1000);
  expect(get(client, "Widget", "a2")).toBeUndefined();
  expect(w.events).toEqual([]);
  // The state that was read after the conflict wins over the stale cache.
  await w.reconcile();
  expect(get(client, "Widget", "a2")).toBeUndefined();
  expect(get(client, "Widget", "a1")?.["spec"]).toEqual({ size: 1 });
});

test("an object with a user's name is read live before it is created, if no cache has it", async () => {
  const { client, seen, ...w } = world([xr({ resourceRefs: [{ ...WIDGET, name: "a1" }] }), widget("a1", "a")]);
  seen.composed = [];
  w.compose(named("a", "a2"));
  await w.reconcile();
  expect(referencesOf(client)).toEqual(["a1"]);
  expect(get(client, "Widget", "a2")).toBeUndefined();
});

test("a deleted object that a stale cache shows is not created with its old identity", async () => {
  const ghost = widget("a1", "a");
  const { client, seen, ...w } = world([xr({ resourceRefs: [{ ...WIDGET, name: "a1" }] })]);
  seen.composed = [ghost];
  w.compose(named("a", "a1"));
  const outcome = await w.reconcile();
  expect(outcome?.requeueAfterMs).toBeLessThan(1000);
  expect(get(client, "Widget", "a1")).toBeUndefined();
  seen.composed = undefined;
  await w.reconcile();
  expect(get(client, "Widget", "a1")?.["spec"]).toEqual({ size: 1 });
});

/** A reconciled XR with these recorded widgets: only its references can change. */
function recorded(resourceVersion: string, ...names: string[]): LiveObject {
  const owned = [
    {
      manager: "apiextensions.crossplane.io/composite",
      operation: "Apply",
      apiVersion: "example.org/v1",
      fieldsV1: {
        "f:metadata": {
          "f:finalizers": { 'v:"composite.apiextensions.crossplane.io"': {} },
          "f:labels": { "f:crossplane.io/composite": {} },
        },
        "f:spec": {
          "f:compositionRef": {},
          "f:compositionRevisionRef": {},
          "f:compositionUpdatePolicy": {},
          "f:resourceRefs": {},
        },
      },
    },
  ];
  const spec = {
    compositionRef: { name: "c" },
    compositionRevisionRef: { name: "c-1" },
    compositionUpdatePolicy: "Automatic",
    resourceRefs: names.map((name) => ({ ...WIDGET, name })),
  };
  return xr(spec, {
    managedFields: owned,
    finalizers: ["composite.apiextensions.crossplane.io"],
    labels: { "crossplane.io/composite": "xr" },
    resourceVersion,
  });
}

test("nothing is created whose reference only a stale copy of the XR has", async () => {
  const { client, seen, ...w } = world([recorded("5")]);
  seen.xr = recorded("4", "a1");
  w.compose(named("a", "a1"));
  await w.reconcile();
  expect(client.writes).toEqual([]);
  await w.reconcile();
  expect(referencesOf(client)).toEqual(["a1"]);
  expect(get(client, "Widget", "a1")).toBeDefined();
});

test("nothing is deleted that only a stale copy of the XR no longer desires", async () => {
  const { client, seen, ...w } = world([recorded("5", "b1"), widget("b1", "b")]);
  seen.xr = recorded("4", "b1");
  w.compose();
  const outcome = await w.reconcile();
  expect(outcome?.requeueAfterMs).toBeLessThan(1000);
  expect(client.writes).toEqual([]);
  // The current XR no longer desires it either.
  await w.reconcile();
  expect(w.titles().filter((one) => one.startsWith("delete"))).toEqual(["delete Widget/b1"]);
});

test("readiness is reported even if the server rejects the function's status", async () => {
  const { client, ...w } = world([xr()]);
  const patches = [{ type: "ToCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "status.size" }];
  w.compose({ ...unnamed("a"), patches });
  client.beforeWrite = ({ subresource, body }) => {
    if (subresource === "status" && JSON.stringify(body).includes('"size"'))
      throw new ApiError("Invalid", ".status.size: field not declared in schema", { status: 500 });
  };
  const conditions = (): unknown => (get(client, "XDatabase", "xr")?.["status"] as JsonObject)["conditions"];
  await w.reconcile().catch(() => undefined);
  w.compose({ ...unnamed("a"), patches }, named("b", "b"));
  await expect(w.reconcile()).rejects.toThrow("field not declared");
  expect(conditions()).toMatchObject([
    { type: "Synced", status: "False", message: expect.stringContaining(".status.size") },
    { type: "Ready", status: "False", message: "Unready resources: a, b" },
  ]);
});

test("an object that gets another controller before its deletion stays", async () => {
  const theirs = widget("b1", "b", { ownerReferences: [owner("other")], resourceVersion: "9" });
  const references = [{ ...WIDGET, name: "b1" }];
  const { client, seen, ...w } = world([xr({ resourceRefs: references }), theirs]);
  seen.composed = [widget("b1", "b")];
  w.compose();
  await w.reconcile();
  expect(get(client, "Widget", "b1")?.metadata.uid).toBe("uid-b1");
  expect(w.titles().filter((one) => one.startsWith("delete"))).toHaveLength(1);
});

test("an object that changed before its deletion and has the same controller is deleted", async () => {
  const { client, seen, ...w } = world([
    xr({ resourceRefs: [{ ...WIDGET, name: "b1" }] }),
    widget("b1", "b", { resourceVersion: "9" }),
  ]);
  seen.composed = [widget("b1", "b")];
  w.compose();
  await w.reconcile();
  expect(get(client, "Widget", "b1")).toBeUndefined();
  // The cache still shows it, but the deletion is recorded: its reference is removed.
  await w.reconcile();
  expect(referencesOf(client)).toEqual([]);
});

test("nothing is deleted while a resource cannot be applied", async () => {
  const { client, ...w } = world([xr({ resourceRefs: [{ ...WIDGET, name: "b1" }] }), widget("b1", "b")]);
  w.compose(named("a", "a1"));
  client.beforeWrite = ({ object }) => {
    if (object === "Widget/a1") throw new ApiError("Forbidden", "exceeded quota: widgets", { status: 403 });
  };
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect(get(client, "Widget", "b1")).toBeDefined();
  expect(JSON.stringify(get(client, "XDatabase", "xr")?.["status"])).toContain("exceeded quota");
  client.beforeWrite = () => undefined;
  await w.reconcile();
  expect(get(client, "Widget", "a1")).toBeDefined();
  expect(get(client, "Widget", "b1")).toBeUndefined();
});

test("a lost reply costs a retry, but no second object and no reference", async () => {
  for (let lost = 1; lost <= 5; lost++) {
    const { client, ...w } = world([xr()]);
    w.compose(unnamed("a"), named("b", "b"), unnamed("c"));
    let count = 0;
    const { apply } = client;
    client.apply = async (object, options) => {
      const answer = await apply(object, options);
      if (++count === lost) throw new ApiError("Unreachable", "the connection broke");
      return answer;
    };
    await w.reconcile().catch(() => undefined);
    w.restart();
    await w.reconcile();
    await w.reconcile();
    expect([...client.objects.values()].filter(({ kind }) => kind === "Widget")).toHaveLength(3);
    expect(referencesOf(client)).toHaveLength(3);
    client.writes.length = 0;
    await w.reconcile();
    expect(client.writes).toEqual([]);
  }
});

test("caches that lag behind the controller's writes cause no further writes", async () => {
  const w = world([xr()]);
  const { client, seen } = w;
  seen.composed = [];
  seen.xr = xr();
  w.compose(unnamed("a"), named("b", "b"));
  await w.reconcile();
  client.writes.length = 0;
  const outcome = await w.reconcile();
  expect(client.writes).toEqual([]);
  // This ends after some seconds: another client may have deleted what the caches never showed.
  expect(outcome?.requeueAfterMs).toBeLessThan(10_000);
  client.objects.delete("things.example.org/Widget//b");
  w.now += 10_000;
  seen.xr = get(client, "XDatabase", "xr");
  await w.reconcile();
  expect(get(client, "Widget", "b")).toBeDefined();
});

test("an unexpected error is reported without its message", async () => {
  const { client, ...w } = world([xr()]);
  w.compose(unnamed("a"));
  client.kind = () => {
    throw new RangeError("hunter2");
  };
  await expect(w.reconcile()).rejects.toThrow("hunter2");
  const reported = JSON.stringify([w.events, get(client, "XDatabase", "xr")]);
  expect(reported).toContain("RangeError");
  expect(reported).not.toContain("hunter2");
});

test("consecutive conflicts are retried with growing pauses", async () => {
  const { client, ...w } = world([xr()]);
  w.compose(unnamed("a"));
  client.beforeWrite = () => {
    throw new ApiError("Conflict", "changed", { status: 409 });
  };
  const times: number[] = [];
  for (let i = 0; i < 9; i++) times.push((await w.reconcile())?.requeueAfterMs ?? 0);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times.at(-1)).toBeGreaterThan(1000);
});

/** Like a real client, refuses invalid names before it sends a request. */
function refuseNames({ client }: World): void {
  const { get: read } = client;
  client.get = async (reference) => {
    if (/[/%]/.test(`${reference.namespace ?? ""}${reference.name}`)) throw new ApiError("Invalid", "no such URL");
    return read(reference);
  };
}
const secret = (namespace: string, name: string, ownerReferences: JsonObject[]): LiveObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace, name, uid: `uid-${name}`, resourceVersion: "1", ownerReferences },
  type: "connection.crossplane.io/v1alpha1",
  data: { user: "YWRtaW4=" },
});
const going = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["composite.apiextensions.crossplane.io"] };

test("an entry with an invalid name is reported and not recorded, and composed when it is fixed", async () => {
  const w = world([xr()]);
  const { client } = w;
  refuseNames(w);
  w.compose(named("a", "x/y"), named("b", "b"));
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
  expect(referencesOf(client)).toEqual(["b"]);
  expect(get(client, "Widget", "b")).toBeDefined();
  const reported = JSON.stringify(get(client, "XDatabase", "xr")?.["status"]);
  for (const part of ["composed resource", "metadata.name", "x/y"]) expect(reported).toContain(part);
  w.compose(named("a", "x-y"), named("b", "b"));
  await w.reconcile();
  expect(referencesOf(client)).toEqual(["b", "x-y"]);
});

test("a reference with an invalid name blocks neither the templates nor the deletion of an XR", async () => {
  const resourceRefs = [...["x/y", "..", "%2e"].map((name) => ({ ...WIDGET, name })), { ...WIDGET, name: "b" }];
  const spec = { resourceRefs, writeConnectionSecretToRef: { name: "x/y", namespace: "team" } };
  const living = world([xr(spec), widget("b", "b")]);
  refuseNames(living);
  living.compose(named("b", "b"));
  await living.reconcile();
  expect(referencesOf(living.client)).toEqual(["b"]);
  const ending = world([xr(spec, going), widget("b", "b")]);
  refuseNames(ending);
  await ending.reconcile();
  expect([...ending.client.objects.keys()]).toEqual([]);
});

test("an object recorded without its namespace, or with a superfluous one, is deleted with its XR", async () => {
  const map: LiveObject = {
    ...widget("m", "m", { namespace: "team" }),
    apiVersion: "v1",
    kind: "ConfigMap",
  };
  const references = [
    { apiVersion: "v1", kind: "ConfigMap", name: "m" },
    { ...WIDGET, name: "b", namespace: "team" },
  ];
  const { client, seen, ...w } = world([xr({ resourceRefs: references }, going), widget("b", "b"), map]);
  seen.composed = [];
  await w.reconcile();
  expect([...client.objects.keys()]).toEqual([]);
});

test("a resource that cannot be deleted blocks neither the other deletions nor the connection secret's", async () => {
  const place = { name: "details", namespace: "team" };
  const { client, ...w } = world([
    xr(
      { resourceRefs: ["a", "b", "c"].map((name) => ({ ...WIDGET, name })), writeConnectionSecretToRef: place },
      going,
    ),
    ...["a", "b", "c"].map((name) => widget(name, name)),
    secret("team", "details", [owner()]),
  ]);
  client.beforeWrite = ({ verb, object }) => {
    if (verb === "delete" && object !== "Widget/c" && object.startsWith("Widget/"))
      throw new ApiError("Forbidden", `${object} may not go`, { status: 403 });
  };
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect([...client.objects.values()].map(({ metadata }) => metadata.name)).toEqual(["xr", "a", "b"]);
  const reported = JSON.stringify(get(client, "XDatabase", "xr")?.["status"]);
  for (const name of ["a", "b"]) expect(reported).toContain(`Widget/${name} may not go`);
  client.beforeWrite = () => undefined;
  await w.reconcile();
  expect([...client.objects.keys()]).toEqual([]);
});

test("a resource that cannot be read does not block the other deletions", async () => {
  const resourceRefs = ["a", "b"].map((name) => ({ ...WIDGET, name }));
  const { client, seen, ...w } = world([xr({ resourceRefs }, going), widget("a", "a"), widget("b", "b")]);
  seen.composed = [];
  const { get: read } = client;
  client.get = async (reference) => {
    if (reference.name === "a") throw new ApiError("Forbidden", "a may not be read", { status: 403 });
    return read(reference);
  };
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
  expect([...client.objects.values()].map(({ metadata }) => metadata.name)).toEqual(["xr", "a"]);
});

test("a concurrent write of the connection secret is retried without an event", async () => {
  const { client, ...w } = world([
    xr({ writeConnectionSecretToRef: { name: "details", namespace: "team" } }),
    secret("team", "details", [owner()]),
  ]);
  w.compose(unnamed("a"));
  client.beforeWrite = ({ object }) => {
    if (object === "Secret/team/details") throw new ApiError("Conflict", "changed", { status: 409 });
  };
  const outcome = await w.reconcile();
  expect(outcome?.requeueAfterMs).toBeLessThan(1000);
  expect(w.events).toEqual([]);
  expect(get(client, "XDatabase", "xr")?.["status"]).toBeUndefined();
});

test.each([
  ["of another", { namespace: "team", name: "theirs" }, "other", undefined],
  ["of the composed resource", { namespace: "team", name: "theirs" }, "uid-a", { user: "YWRtaW4=" }],
  // Never reads the Secret that the first two parts name.
  ["with a name that no Secret has", { namespace: "team", name: "theirs/x" }, "uid-a", undefined],
])("a connection secret %s", async (_, reference, controller, published) => {
  const resourceRefs = [{ ...WIDGET, name: "a" }];
  const composed = { ...widget("a", "a"), spec: { writeConnectionSecretToRef: reference } };
  const { client, events, ...w } = world([
    xr({ resourceRefs, writeConnectionSecretToRef: { name: "details", namespace: "team" } }),
    composed,
    secret("team", "theirs", [{ ...owner(controller), kind: "Widget", name: "a" }]),
  ]);
  const connectionDetails = [{ name: "user", type: "FromConnectionSecretKey", fromConnectionSecretKey: "user" }];
  w.compose({ ...named("a", "a"), connectionDetails });
  await w.reconcile();
  expect(get(client, "Secret", "details")?.["data"]).toEqual(published);
  expect(events.some((message) => message.includes(`${reference.namespace}/${reference.name}`))).toBe(!published);
});

test("a connection secret with an invalid name is refused with the field that names it", async () => {
  const { client, ...w } = world([
    xr({
      resourceRefs: [{ ...WIDGET, name: "a" }],
      writeConnectionSecretToRef: { name: "x/y", namespace: "team" },
    }),
    { ...widget("a", "a"), spec: { writeConnectionSecretToRef: { namespace: "team", name: "its" } } },
    secret("team", "its", [{ ...owner("uid-a"), kind: "Widget", name: "a" }]),
  ]);
  refuseNames({ client, ...w });
  const connectionDetails = [{ name: "user", type: "FromConnectionSecretKey", fromConnectionSecretKey: "user" }];
  w.compose({ ...named("a", "a"), connectionDetails });
  await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "InvalidResource" }));
  expect(JSON.stringify(get(client, "XDatabase", "xr")?.["status"])).toContain("spec.writeConnectionSecretToRef");
});
