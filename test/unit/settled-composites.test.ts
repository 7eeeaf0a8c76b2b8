import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { get, named, type World, widget, world, xr } from "../harness/composite-memory.ts";

// Polls of XRs whose inputs are unchanged.

const INTERVAL_MS = 60_000;

const countOf = (w: World): number => {
  const { complete } = w;
  w.complete = 0;
  return complete;
};

async function settled(spec: JsonObject = { resources: [named("a", "a"), named("b", "b")] }): Promise<World> {
  const w = world([xr()]);
  w.composeSpec(spec);
  // The first one writes, the second one sees it in the caches.
  for (let index = 0; index < 2; index++) await w.reconcile();
  countOf(w);
  w.client.writes.length = 0;
  return w;
}

test("an unchanged XR is composed again only when an interval has passed, and says that its polls can be rare", async () => {
  const w = await settled();
  for (let index = 0; index < 20; index++) expect(await w.reconcile()).toBeUndefined();
  expect(countOf(w)).toBe(0);
  for (let poll = 0; poll < 2; poll++) {
    w.now += INTERVAL_MS;
    expect(await w.reconcile()).toEqual({ settled: "again" });
    expect(await w.reconcile()).toBeUndefined();
  }
  expect(countOf(w)).toBe(2);
  expect(w.titles()).toEqual([]);
});

test("an XR settles first with the reconcile that changes nothing", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"));
  // The first one writes, and its events are due.
  expect(await w.reconcile()).not.toEqual({ settled: "again" });
  expect(await w.reconcile()).toEqual({ settled: "first" });
});

test("a changed or deleted composed resource is restored at once", async () => {
  const w = await settled();
  await w.client.apply({ ...widget("a", "a"), metadata: { name: "a" }, spec: { size: 9 } }, { fieldManager: "person" });
  await w.reconcile();
  expect(get(w.client, "Widget", "a")?.["spec"]).toEqual({ size: 1 });
  await w.reconcile();
  await w.client.delete({ apiVersion: "things.example.org/v1", kind: "Widget", name: "b" });
  await w.reconcile();
  expect(get(w.client, "Widget", "b")?.["spec"]).toEqual({ size: 1 });
});

test("a new revision and a change of the XR are composed at once", async () => {
  const w = await settled();
  w.compose(named("a", "a"), named("b", "b"), named("c", "c"));
  await w.reconcile();
  expect(get(w.client, "Widget", "c")).toBeDefined();
  await w.reconcile();
  countOf(w);
  await w.reconcile();
  expect(countOf(w)).toBe(0);
  await w.client.patch({ apiVersion: "example.org/v1", kind: "XDatabase", name: "xr" }, "merge", {
    metadata: { annotations: { "crossplane.io/paused": "true" } },
  });
  await w.reconcile();
  expect(JSON.stringify(get(w.client, "XDatabase", "xr")?.["status"])).toContain("ReconcilePaused");
});

test("a reconcile that fails, has functions or publishes details is never skipped", async () => {
  const failing = world([xr()]);
  failing.compose({ name: "g", base: { apiVersion: "things.example.org/v1", kind: "Gadget" } });
  for (let index = 0; index < 3; index++) await expect(failing.reconcile()).rejects.toThrow("Gadget");
  expect(countOf(failing)).toBe(3);
  const details = [{ type: "FromValue", name: "host", value: "db" }];
  const publishing = await settled({ resources: [{ ...named("a", "a"), connectionDetails: details }] });
  for (let index = 0; index < 3; index++) await publishing.reconcile();
  expect(countOf(publishing)).toBe(3);
});

test("an XR that publishes a connection secret is never skipped, because Secrets are read anew", async () => {
  const w = world([xr({ writeConnectionSecretToRef: { name: "details", namespace: "team" } })]);
  w.compose(named("a", "a"));
  for (let index = 0; index < 2; index++) await w.reconcile();
  countOf(w);
  for (let index = 0; index < 3; index++) await w.reconcile();
  expect(countOf(w)).toBe(3);
});

test("an XR whose Composition has no revision yet is composed as soon as there is one", async () => {
  const w = world([xr()]);
  for (let index = 0; index < 2; index++) expect(await w.reconcile()).toBeUndefined();
  w.compose(named("a", "a"));
  await w.reconcile();
  expect(get(w.client, "Widget", "a")).toBeDefined();
});

test("a reconcile request is handled once, but not while the XR is paused", async () => {
  const w = await settled();
  const handled = () => (get(w.client, "XDatabase", "xr")?.["status"] as JsonObject)["lastHandledReconcileAt"];
  const isReported = (message: string) => message.includes("handled the reconcile request");
  const annotate = (requested: string | null, paused: string | null = null) => {
    const annotations = { "crossplane.io/reconcile-requested-at": requested, "crossplane.io/paused": paused };
    const { apiVersion, kind } = xr();
    return w.client.patch({ apiVersion, kind, name: "xr" }, "merge", { metadata: { annotations } });
  };
  await annotate("1", "true");
  await w.reconcile();
  expect(handled()).toBeUndefined();
  await annotate("1");
  for (let index = 0; index < 3; index++) await w.reconcile();
  expect(countOf(w)).toBeGreaterThan(0);
  expect(handled()).toBe("1");
  expect(w.events.filter(isReported)).toHaveLength(1);
  await annotate(null);
  await w.reconcile();
  expect(handled()).toBe("1");
  await annotate("2");
  for (let index = 0; index < 3; index++) await w.reconcile();
  expect(handled()).toBe("2");
  expect(w.events.filter(isReported)).toHaveLength(2);
});
