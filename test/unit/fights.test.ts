import { isObject, type JsonObject } from "@xfn/json";
import { ApiError } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { get, named, WIDGET, type World, widget, world, xr } from "../harness/composite-memory.ts";

// Writers that change composed resources back after each apply.

const condition = ({ client }: World, wanted = "Responsive"): JsonObject | undefined => {
  const { conditions = [] } = (get(client, "XDatabase", "xr")?.["status"] ?? {}) as { conditions?: JsonObject[] };
  return conditions.find(({ type }) => type === wanted);
};
const applies = ({ client }: World, name: string): number =>
  client.writes.splice(0).filter(({ verb, object }) => verb === "apply" && object === `Widget/${name}`).length;
const applyAsProvider = async ({ client }: World, spec: JsonObject): Promise<void> => {
  await client.apply(
    { apiVersion: "things.example.org/v1", kind: "Widget", metadata: { name: "a" }, spec },
    { fieldManager: "provider" },
  );
};

/** Reconciles each second, while the provider changes the size back at once. @returns the applies of the XR */
async function fight(w: World, seconds: number): Promise<number> {
  let count = 0;
  for (let second = 0; second < seconds; second++) {
    await applyAsProvider(w, { size: 9 });
    w.client.writes.length = 0;
    await w.reconcile();
    count += applies(w, "a");
    w.now += 1_000;
  }
  return count;
}

test("an object that another writer changes back is applied once in 30 s, and the XR reports the field and the writer", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"), named("b", "b"));
  await w.reconcile();
  expect(condition(w)).toMatchObject({ status: "True", reason: "WatchCircuitClosed" });
  expect(await fight(w, 20)).toBeLessThan(12);
  expect(condition(w)).toMatchObject({ status: "False", reason: "WatchCircuitOpen" });
  for (const part of ["Widget a", "provider", "spec.size"]) expect(condition(w)?.["message"]).toContain(part);
  expect(await fight(w, 120)).toBeLessThanOrEqual(4);
  const outcome = await w.reconcile();
  expect(outcome?.requeueAfterMs).toBeLessThanOrEqual(30_000);
});

test("the circuit breaker is reported when it opens, and when it closes", async () => {
  const changes: [string, boolean][] = [];
  const w = world([xr()], { onCircuit: ({ kind }, isOpen) => void changes.push([kind, isOpen]) });
  w.compose(named("a", "a"));
  await w.reconcile();
  await fight(w, 60);
  expect(changes).toEqual([["XDatabase", true]]);
  w.now += 10 * 60_000;
  await w.reconcile();
  await w.reconcile();
  expect(changes).toEqual([
    ["XDatabase", true],
    ["XDatabase", false],
  ]);
});

test("the condition is written once, with any state between two writes", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"));
  await w.reconcile();
  await fight(w, 20);
  const before = structuredClone(get(w.client, "XDatabase", "xr"));
  await fight(w, 100);
  await w.reconcile();
  expect(get(w.client, "XDatabase", "xr")).toEqual(before);
});

test("an object that another writer releases after each apply is adopted only by a write", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"));
  await w.reconcile();
  w.events.length = 0;
  let count = 0;
  for (let second = 0; second < 20; second++) {
    await w.client.patch({ ...WIDGET, name: "a" }, "merge", { metadata: { ownerReferences: null } });
    w.client.writes.length = 0;
    await w.reconcile();
    count += applies(w, "a");
    w.now += 1_000;
  }
  expect(count).toBeLessThan(20);
  expect(w.events.filter((message) => message.startsWith("adopted by"))).toHaveLength(count);
});

test("the XR is reconciled when the first of several writes may be sent", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"), named("b", "b"));
  await w.reconcile();
  const change = (name: string): Promise<unknown> =>
    w.client.patch({ ...WIDGET, name }, "merge", { spec: { size: 9 } });
  // The last write of the second object follows that of the first one by some ten seconds.
  for (const name of ["a", "b"]) {
    for (let second = 0; second < 11; second++) {
      await change(name);
      await w.reconcile();
      w.now += 1_000;
    }
  }
  for (const name of ["a", "b"]) await change(name);
  const outcome = await w.reconcile();
  for (const name of ["a", "b"]) expect(get(w.client, "Widget", name)?.["spec"]).toEqual({ size: 9 });
  expect(outcome?.requeueAfterMs).toBeLessThan(20_000);
});

test("an XR whose caches lag behind its writes is reconciled before the slowed write", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"));
  await w.reconcile();
  await fight(w, 20);
  await applyAsProvider(w, { size: 9 });
  w.seen.composed = [get(w.client, "Widget", "a") ?? widget("a", "a")];
  w.compose(named("a", "a"), named("b", "b"));
  await w.reconcile();
  w.now += 1_000;
  const outcome = await w.reconcile();
  expect(get(w.client, "Widget", "a")?.["spec"]).toEqual({ size: 9 });
  expect(outcome?.requeueAfterMs).toBeLessThan(10_000);
});

test("a new intent is applied at once, and other objects are not slowed", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"));
  await w.reconcile();
  await fight(w, 20);
  const base = named("a", "a")["base"];
  w.compose({ ...named("a", "a"), base: { ...(isObject(base) ? base : {}), spec: { size: 5 } } }, named("b", "b"));
  w.client.writes.length = 0;
  await w.reconcile();
  expect(get(w.client, "Widget", "a")?.["spec"]).toEqual({ size: 5 });
  expect(get(w.client, "Widget", "b")).toBeDefined();
});

test("an XR that alternates between two intents is slowed", async () => {
  const w = world([xr()]);
  const sized = (size: number): JsonObject => ({
    ...named("a", "a"),
    base: { apiVersion: "things.example.org/v1", kind: "Widget", spec: { size } },
  });
  let count = 0;
  for (let second = 0; second < 40; second++) {
    w.compose(sized(second % 2));
    await w.reconcile();
    count += applies(w, "a");
    w.now += 1_000;
  }
  expect(count).toBeLessThan(16);
  expect(condition(w)).toMatchObject({ status: "False" });
});

test("the XR is responsive again when the fight has ended", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"));
  await w.reconcile();
  await fight(w, 20);
  w.now += 60_000;
  await w.reconcile();
  expect(get(w.client, "Widget", "a")?.["spec"]).toEqual({ size: 1 });
  expect(condition(w)).toMatchObject({ status: "False" });
  w.now += 6 * 60_000;
  await w.reconcile();
  expect(condition(w)).toMatchObject({ status: "True", reason: "WatchCircuitClosed" });
  w.client.writes.length = 0;
  await w.reconcile();
  expect(w.client.writes).toEqual([]);
});

test("a few manual changes are restored at once", async () => {
  const w = world([xr()]);
  w.compose(named("a", "a"));
  await w.reconcile();
  expect(await fight(w, 5)).toBe(5);
  expect(condition(w)).toMatchObject({ status: "True", reason: "WatchCircuitClosed" });
});

test("refused writes are not a fight: the XR stays not synced, and nothing is deleted", async () => {
  const resourceRefs = [
    { ...WIDGET, name: "a" },
    { ...WIDGET, name: "old" },
  ];
  const w = world([xr({ resourceRefs }), widget("a", "a"), widget("old", "old")]);
  w.compose(named("a", "a"));
  w.client.beforeWrite = ({ object }) => {
    if (object === "Widget/a") throw new ApiError("Forbidden", "exceeded quota", { status: 403 });
  };
  for (let second = 0; second < 20; second++) {
    await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "Forbidden" }));
    expect(condition(w, "Synced")).toMatchObject({
      status: "False",
      reason: "ReconcileError",
      message: expect.stringMatching(/^Forbidden: /),
    });
    w.now += 1_000;
  }
  expect(condition(w)).toMatchObject({ status: "True", reason: "WatchCircuitClosed" });
  expect(get(w.client, "Widget", "old")).toBeDefined();
});
