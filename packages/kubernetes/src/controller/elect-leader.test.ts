import { expect, test } from "vitest";
import { objectStore } from "../../test-support/object-store.ts";
import { ApiError } from "../client/api-error.ts";
import { type ElectionOptions, electLeader } from "./elect-leader.ts";

// The API counts leases in whole seconds.
const LEASE_MS = 1_000;

function standing(
  store: ReturnType<typeof objectStore>,
  identity: string,
  more: Partial<ElectionOptions> = {},
): ElectionOptions {
  return { client: store.client, namespace: "n", name: "work", identity, leaseMs: LEASE_MS, ...more };
}

const specOf = (store: ReturnType<typeof objectStore>): Record<string, unknown> =>
  (store.objects.get("Lease n/work")?.["spec"] ?? {}) as Record<string, unknown>;

test("of many who stand at once one leads, and another as soon as that one lets go", async () => {
  const store = objectStore();
  const stop = new AbortController();
  const leading: string[] = [];
  const elections = ["a", "b", "c"].map(async (identity) => {
    const lease = await electLeader(standing(store, identity, { signal: stop.signal }));
    leading.push(identity);
    return lease;
  });
  const first = await Promise.race(elections);
  await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
  expect(leading).toHaveLength(1);
  expect(first.held).toBe(true);
  expect(specOf(store)).toMatchObject({ holderIdentity: leading[0], leaseDurationSeconds: 1, leaseTransitions: 0 });
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
  await expect.poll(() => leading.length, { timeout: 5_000 }).toBe(2);
  expect(specOf(store)).toMatchObject({ leaseTransitions: 1 });
  stop.abort();
  for (const result of await Promise.allSettled(elections)) {
    if (result.status === "fulfilled") await result.value.release();
  }
});

test("a leader that cannot renew has lost its lease before another has it", async () => {
  const store = objectStore();
  const deaf = objectStore();
  deaf.failure = undefined;
  let cutOff = false;
  // The leader's own way to the server breaks; the other's does not.
  const client = new Proxy(store.client, {
    get(target, property, receiver) {
      if (cutOff) return () => Promise.reject(new ApiError("Unreachable", "cut off"));
      return Reflect.get(target, property, receiver) as unknown;
    },
  });
  const errors: unknown[] = [];
  const leader = await electLeader(standing(store, "a", { client, onError: (error) => errors.push(error) }));
  const next = electLeader(standing(store, "b"));
  let lostAt = 0;
  leader.lost.addEventListener("abort", () => {
    lostAt = performance.now();
  });
  cutOff = true;
  const lease = await next;
  expect(lostAt).toBeGreaterThan(0);
  expect(leader.held).toBe(false);
  expect(errors.length).toBeGreaterThan(0);
  await leader.release();
  // What was lost is not given back in the name of another.
  expect(specOf(store)).toMatchObject({ holderIdentity: "b" });
  await lease.release();
});

test("a leader whose lease another has written stops at its next renewal", async () => {
  const store = objectStore();
  const leader = await electLeader(standing(store, "a"));
  const lease = await store.client.get({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: "n",
    name: "work",
  });
  await store.client.update({ ...lease, spec: { ...specOf(store), holderIdentity: "b" } } as never);
  await expect.poll(() => leader.lost.aborted).toBe(true);
  await leader.release();
  expect(specOf(store)).toMatchObject({ holderIdentity: "b" });
});

test("a lease that somebody annotates or deletes is kept", async () => {
  const store = objectStore();
  const leader = await electLeader(standing(store, "a"));
  const lease = await store.client.get({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: "n",
    name: "work",
  });
  await store.client.update(lease);
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS / 2));
  store.objects.clear();
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS));
  expect(leader.held).toBe(true);
  expect(specOf(store)).toMatchObject({ holderIdentity: "a" });
  await leader.release();
});

test("who may not have leases is told so at once; who waits can give up", async () => {
  const store = objectStore();
  store.failure = new ApiError("Forbidden", "no");
  await expect(electLeader(standing(store, "a"))).rejects.toMatchObject({ code: "Forbidden" });
  store.failure = new ApiError("Unreachable", "down");
  const reason = new Error("enough");
  const stop = new AbortController();
  const election = electLeader(standing(store, "a", { signal: stop.signal }));
  stop.abort(reason);
  await expect(election).rejects.toBe(reason);
});
