import type { KubernetesObject } from "@xfn/json";
import { expect, test } from "vitest";
import { objectStore } from "../../testing/object-store.ts";
import { ApiError } from "../client/api-error.ts";
import { type EventRecorderOptions, recordEvents } from "./record-events.ts";

const OBJECT: KubernetesObject = {
  apiVersion: "example.org/v1",
  kind: "XThing",
  metadata: { name: "a", uid: "u", resourceVersion: "7" },
};
const WARNING = { type: "Warning", reason: "Failed", message: "it failed" } as const;

function recorder(options: EventRecorderOptions = {}) {
  const store = objectStore();
  const drops: string[] = [];
  const events = recordEvents(store.client, "tester", { onDrop: (reason) => drops.push(reason), ...options });
  return { store, drops, events, all: () => [...store.objects.values()] };
}

test("an event refers to its object, and is in the object's namespace", async () => {
  const { events, all } = recorder({ now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) });
  events.record(OBJECT, WARNING);
  events.record({ ...OBJECT, metadata: { name: "b", namespace: "team" } }, { ...WARNING, type: "Normal" });
  await events.flush();
  expect(all()).toMatchObject([
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace: "default" },
      involvedObject: { apiVersion: "example.org/v1", kind: "XThing", name: "a", uid: "u" },
      ...WARNING,
      count: 1,
      firstTimestamp: "2026-01-02T03:04:05Z",
      source: { component: "tester" },
      reportingComponent: "tester",
    },
    { metadata: { namespace: "team" }, type: "Normal" },
  ]);
});

test("equal events are counted on the first, and a flush writes the count", async () => {
  let now = 0;
  const { events, store, all } = recorder({ now: () => now });
  for (let i = 0; i < 50; i++) {
    events.record(OBJECT, WARNING);
    now += 1_000;
  }
  await expect.poll(() => store.writes).toEqual(["create Event"]);
  await events.flush();
  expect(store.writes).toEqual(["create Event", "patch Event"]);
  expect(all()).toMatchObject([{ count: 50, lastTimestamp: "1970-01-01T00:00:49Z" }]);
  await events.flush();
  expect(store.writes).toHaveLength(2);
  // After the window, an equal event is a new one.
  now += 11 * 60_000;
  events.record(OBJECT, WARNING);
  await events.flush();
  expect(all()).toHaveLength(2);
});

test("an event that the server has deleted is created again", async () => {
  const { events, store, all } = recorder();
  events.record(OBJECT, WARNING);
  await events.flush();
  store.objects.clear();
  events.record(OBJECT, WARNING);
  await events.flush();
  expect(all()).toMatchObject([{ count: 2 }]);
});

test("messages that differ each time are combined into one event", async () => {
  const { events, all } = recorder();
  for (let i = 0; i < 20; i++) events.record(OBJECT, { ...WARNING, message: `attempt ${i}` });
  await events.flush();
  expect(all()).toHaveLength(11);
  expect(all().at(-1)).toMatchObject({ count: 10, message: "(combined from similar events): attempt 19" });
});

test("the events of one object are limited, and other objects are unaffected", async () => {
  const { events, all, drops } = recorder();
  for (let i = 0; i < 100; i++) events.record(OBJECT, { ...WARNING, reason: `Reason${i}` });
  events.record({ ...OBJECT, metadata: { name: "other" } }, WARNING);
  await events.flush();
  expect(all()).toHaveLength(26);
  expect(drops).toHaveLength(75);
  expect(events.dropped).toBe(75);
});

test("a server that does not answer blocks no caller, and the waiting events are bounded", async () => {
  const { events, store, drops } = recorder();
  const { promise, resolve } = Promise.withResolvers<void>();
  store.blocked = promise;
  for (let i = 0; i < 1_500; i++) events.record({ ...OBJECT, metadata: { name: `n${i}` } }, WARNING);
  expect(drops.length).toBeGreaterThan(450);
  resolve();
  await events.flush();
  expect(store.objects.size + drops.length).toBe(1_500);
});

test("unwritable and malformed events are dropped and counted, and the next one is tried", async () => {
  const { events, store, drops, all } = recorder();
  store.failure = new ApiError("Forbidden", "the namespace is being terminated");
  events.record(OBJECT, WARNING);
  await events.flush();
  events.record({ apiVersion: "v1", kind: "X" } as KubernetesObject, WARNING);
  events.record(undefined as never, WARNING);
  expect(drops).toHaveLength(3);
  store.failure = undefined;
  events.record(OBJECT, WARNING);
  await events.flush();
  expect(all()).toMatchObject([{ count: 1 }]);
});

test("long messages and names are cut to the API's limits", async () => {
  const { events, all } = recorder();
  events.record({ ...OBJECT, metadata: { name: "x".repeat(253) } }, { ...WARNING, message: "ä".repeat(2_000) });
  await events.flush();
  const [event] = all();
  expect(Buffer.byteLength(String(event?.["message"]))).toBeLessThanOrEqual(1_024);
  expect(event?.["message"]).toMatch(/^ä+\.\.\.$/);
  expect(event?.metadata.name.length).toBeLessThanOrEqual(253);
});
