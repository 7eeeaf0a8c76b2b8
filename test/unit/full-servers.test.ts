import type { FunctionRunner } from "@xfn/runner-contract";
import { expect, test } from "vitest";
import { get, named, WIDGET, type World, widget, world, xr } from "../harness/composite-memory.ts";

// The conditions of an XR if the runner has no free slot, its cache no space, or a watch no right.

/** The conditions of the XR by their type, as status and reason. */
function conditions({ client }: World): Record<string, string> {
  const shown = get(client, "XDatabase", "xr")?.["status"] as
    | { conditions?: { type: string; status: string; reason: string }[] }
    | undefined;
  return Object.fromEntries((shown?.conditions ?? []).map((one) => [one.type, `${one.status} ${one.reason}`]));
}

test("a full runner is shown once it has refused for a minute; until then the XR is tried again as it asks", async () => {
  const full = Object.assign(new Error("the runner is full"), {
    code: "QueueFull",
    retryable: true,
    retryAfterMs: 12_000,
  });
  const runner: FunctionRunner = { run: () => Promise.reject(full) };
  const w = world([xr()], { runner });
  w.composeSpec({ mode: "Pipeline", pipeline: [{ step: "only", container: { image: "image" } }] });
  for (let refusals = 0; refusals < 5; refusals++) {
    await expect(w.reconcile()).rejects.toMatchObject({ code: "RunFailed", retryAfterMs: 12_000, undelivered: true });
    w.now += 12_000;
  }
  expect(conditions(w)["Synced"]).toBeUndefined();
  expect(w.events.filter((message) => message.includes("full"))).toEqual([]);
  await expect(w.reconcile()).rejects.toMatchObject({ retryAfterMs: 12_000 });
  expect(conditions(w)["Synced"]).toBe("False ReconcileError");
  expect(w.events).toContainEqual(expect.stringContaining("the runner is full"));
});

test("an object for which the cache has no space is read live, and the condition Cached says so until it has space", async () => {
  let hasSpace = false;
  const stub = (name: string): ReturnType<typeof widget> => ({ ...WIDGET, metadata: widget(name, "a").metadata });
  const stubs = new Map([["w", stub("w")]]);
  const w = world([xr({ resourceRefs: [{ ...WIDGET, name: "w" }] }), widget("w", "a")], {
    composed: {
      watch: () => undefined,
      cache: () => ({
        get: (name) => stubs.get(name),
        isWhole: (object) => object !== stubs.get(object.metadata.name),
        complete: () => hasSpace,
      }),
      problem: () => undefined,
    },
  });
  w.compose(named("a", "w"));
  await w.reconcile();
  expect(conditions(w)).toMatchObject({ Synced: "True ReconcileSuccess", Cached: "False CacheFull" });
  expect(get(w.client, "Widget", "w")?.["spec"]).toEqual({ size: 1 });
  hasSpace = true;
  w.now += 60_000;
  await w.reconcile();
  expect(conditions(w)["Cached"]).toBe("True CacheAvailable");
});

test("composed resources whose watch is lost are read live, and the condition Cached says so until it works", async () => {
  let problem: string | undefined = "may not watch widgets";
  const w = world([xr({ resourceRefs: [{ ...WIDGET, name: "w" }] }), widget("w", "a")], {
    composed: { watch: () => undefined, cache: () => undefined, problem: () => problem },
  });
  w.compose(named("a", "w"));
  await w.reconcile();
  expect(conditions(w)).toMatchObject({ Synced: "True ReconcileSuccess", Cached: "False WatchFailed" });
  problem = undefined;
  w.now += 60_000;
  await w.reconcile();
  expect(conditions(w)["Cached"]).toBe("True CacheAvailable");
});
