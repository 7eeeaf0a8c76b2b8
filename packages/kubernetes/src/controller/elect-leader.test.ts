import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { objectStore } from "../../testing/object-store.ts";
import { ApiError } from "../client/api-error.ts";
import { type ElectionOptions, electLeader } from "./elect-leader.ts";

const LEASE_MS = 15_000;
// The longest pause before a candidate looks again, and before a leader renews.
const RETRY_MS = LEASE_MS / 5;

// A busy machine would lose leases.
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function candidate(
  store: ReturnType<typeof objectStore>,
  identity: string,
  more: Partial<ElectionOptions> = {},
): ElectionOptions {
  return { client: store.client, namespace: "n", name: "work", identity, leaseMs: LEASE_MS, ...more };
}

const specOf = (store: ReturnType<typeof objectStore>): Record<string, unknown> =>
  (store.objects.get("Lease n/work")?.["spec"] ?? {}) as Record<string, unknown>;

test("one of several candidates leads, and another leads as soon as it releases the lease", async () => {
  const store = objectStore();
  const stop = new AbortController();
  const leading: string[] = [];
  const elections = ["a", "b", "c"].map(async (identity) => {
    const lease = await electLeader(candidate(store, identity, { signal: stop.signal }));
    leading.push(identity);
    return lease;
  });
  const first = await Promise.race(elections);
  await vi.advanceTimersByTimeAsync(2 * LEASE_MS);
  expect(leading).toHaveLength(1);
  expect(first.valid).toBe(true);
  expect(specOf(store)).toMatchObject({ holderIdentity: leading[0], leaseDurationSeconds: 15, leaseTransitions: 0 });
  expect(specOf(store)["renewTime"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  const writes: unknown[] = [];
  const { set } = Map.prototype;
  store.objects.set = (key, value) => {
    writes.push((value["spec"] as { holderIdentity: string }).holderIdentity);
    return set.call(store.objects, key, value) as typeof store.objects;
  };
  await first.release();
  expect(writes[0]).toBe("");
  expect(first.lost.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect(leading).toHaveLength(2);
  expect(specOf(store)).toMatchObject({ leaseTransitions: 1 });
  stop.abort();
  for (const result of await Promise.allSettled(elections)) {
    if (result.status === "fulfilled") await result.value.release();
  }
});

test("a leader that cannot renew loses its lease before another candidate acquires it", async () => {
  const store = objectStore();
  let cutOff = false;
  // Only the leader's connection to the server breaks.
  const client = new Proxy(store.client, {
    get(target, property, receiver) {
      if (cutOff) return () => Promise.reject(new ApiError("Unreachable", "cut off"));
      return Reflect.get(target, property, receiver) as unknown;
    },
  });
  const errors: unknown[] = [];
  const leader = await electLeader(candidate(store, "a", { client, onError: (error) => errors.push(error) }));
  const next = electLeader(candidate(store, "b"));
  const order: string[] = [];
  leader.lost.addEventListener("abort", () => order.push("lost"));
  const acquired = next.then((lease) => {
    order.push("acquired");
    return lease;
  });
  cutOff = true;
  await vi.advanceTimersByTimeAsync(2 * LEASE_MS);
  const lease = await acquired;
  expect(order).toEqual(["lost", "acquired"]);
  expect(leader.valid).toBe(false);
  expect(errors.length).toBeGreaterThan(0);
  await leader.release();
  // Releasing a lost lease does not release the other leader's.
  expect(specOf(store)).toMatchObject({ holderIdentity: "b" });
  await lease.release();
});

test("a leader stops at its next renewal if another process has written its lease", async () => {
  const store = objectStore();
  const leader = await electLeader(candidate(store, "a"));
  const lease = await store.client.get({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: "n",
    name: "work",
  });
  await store.client.update({ ...lease, spec: { ...specOf(store), holderIdentity: "b" } } as never);
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect(leader.lost.aborted).toBe(true);
  await leader.release();
  expect(specOf(store)).toMatchObject({ holderIdentity: "b" });
});

test("a leader keeps a lease that another writer annotates or deletes", async () => {
  const store = objectStore();
  const leader = await electLeader(candidate(store, "a"));
  const lease = await store.client.get({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: "n",
    name: "work",
  });
  await store.client.update(lease);
  await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
  store.objects.clear();
  await vi.advanceTimersByTimeAsync(LEASE_MS);
  expect(leader.valid).toBe(true);
  expect(specOf(store)).toMatchObject({ holderIdentity: "a" });
  await leader.release();
});

test("a candidate without permission fails at once, and a waiting candidate can withdraw", async () => {
  const store = objectStore();
  store.failure = new ApiError("Forbidden", "no");
  await expect(electLeader(candidate(store, "a"))).rejects.toMatchObject({ code: "Forbidden" });
  store.failure = new ApiError("Unreachable", "down");
  const reason = new Error("enough");
  const stop = new AbortController();
  const election = electLeader(candidate(store, "a", { signal: stop.signal }));
  stop.abort(reason);
  await expect(election).rejects.toBe(reason);
});

test("a candidate reports that it stands by after each try that finds another leader, and no other", async () => {
  const store = objectStore();
  const stop = new AbortController();
  const first = await electLeader(candidate(store, "a"));
  const seen: string[] = [];
  store.failure = new ApiError("Unreachable", "down");
  const second = electLeader({
    ...candidate(store, "b", { signal: stop.signal }),
    onStandby: () => void seen.push("standby"),
    onError: () => void seen.push("error"),
  });
  await vi.advanceTimersByTimeAsync(1);
  expect(seen).toEqual(["error"]);
  store.failure = undefined;
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect(seen).toEqual(["error", "standby"]);
  stop.abort();
  await expect(second).rejects.toThrow();
  await first.release();
});
