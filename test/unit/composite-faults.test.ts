import type { JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { get, named, owner, referencesOf, unnamed, WIDGET, widget, world, xr } from "../harness/composite-memory.ts";

// Faults that a real API server cannot be made to show: stale caches, concurrent writes, lost replies.

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

test("an XR that is too large for the API server has a reason of its own", async () => {
  const { client, ...w } = world([xr()]);
  w.compose(named("a", "a"));
  client.beforeWrite = ({ object, subresource }) => {
    if (object !== "XDatabase/xr" || subresource !== undefined) return;
    throw new ApiError("Invalid", "apply XDatabase xr: Request entity too large: limit is 3145728", { status: 413 });
  };
  await expect(w.reconcile()).rejects.toMatchObject({ code: "TooManyResources", retryable: false });
  expect(get(client, "Widget", "a")).toBeUndefined();
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
      manager: "xfn-controller/composite",
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
    { type: "Responsive", status: "True" },
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

test.each(["Manual", "Automatic"])(
  "the revision of a run that fails is recorded with the default policy %s, and references stay",
  async (policy) => {
    const resourceRefs = [{ ...WIDGET, name: "gone" }, WIDGET];
    const w = world([xr({ resourceRefs })], {}, { defaultCompositionUpdatePolicy: policy });
    w.composeSpec({ functions: [{ name: "f", type: "Container", container: { image: "f" } }] });
    await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "FunctionsDisabled" }));
    const spec = get(w.client, "XDatabase", "xr")?.["spec"] as JsonObject;
    expect(spec).toMatchObject({ compositionRevisionRef: { name: "c-1" }, resourceRefs });
  },
);

test("an XR that waits for the first revision of its Composition emits no event, and composes when it is there", async () => {
  const { client, ...w } = world([xr()]);
  expect(await w.reconcile()).toBeUndefined();
  expect(JSON.stringify(get(client, "XDatabase", "xr")?.["status"])).toContain("NoRevision");
  expect(w.events).toEqual([]);
  w.compose(unnamed("a"));
  await w.reconcile();
  expect(referencesOf(client)).toHaveLength(1);
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
