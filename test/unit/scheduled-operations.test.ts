import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { type OperationWorld, operation, operationWorld, reconciled } from "../harness/operation-world.ts";

// CronOperations and WatchOperations with an API server in memory, where Operations end as the test says.

const TEMPLATE = {
  metadata: { labels: { team: "a" } },
  spec: { pipeline: [{ step: "one", functionRef: { name: "function-a" } }] },
};

function owner(kind: string, spec: JsonObject, annotations?: JsonObject): LiveObject {
  const created = { creationTimestamp: "2026-01-01T00:00:00Z", ...(annotations && { annotations }) };
  return {
    apiVersion: "ops.crossplane.io/v1alpha1",
    kind,
    metadata: { name: "it", uid: "uid-it", resourceVersion: "1", generation: 1, ...created },
    spec: { operationTemplate: TEMPLATE, ...spec },
  } as LiveObject;
}

const operations = (world: OperationWorld): LiveObject[] =>
  [...world.client.objects.values()].filter(({ kind }) => kind === "Operation");
const names = (world: OperationWorld): string[] => operations(world).map(({ metadata: { name } }) => name);

/** Ends all Operations, at the time of the world. */
function end(world: OperationWorld, status: "True" | "False" = "True"): void {
  const lastTransitionTime = new Date(world.time).toISOString();
  for (const one of operations(world))
    one["status"] ??= { conditions: [{ type: "Succeeded", status, reason: "PipelineSuccess", lastTransitionTime }] };
}

/** Operations that were created at the time of the world. */
function date(world: OperationWorld): void {
  for (const one of operations(world))
    if (one.metadata["dated"] === undefined)
      Object.assign(one.metadata, { dated: true, creationTimestamp: new Date(world.time).toISOString() });
}

describe("a CronOperation", () => {
  const at = (text: string): number => Date.parse(`2026-01-01T${text}Z`);
  const nameAt = (text: string): string => `it-${at(text) / 1000}`;

  function cron(spec: JsonObject, annotations?: JsonObject) {
    const world = operationWorld([owner("CronOperation", { schedule: "*/10 * * * *", ...spec }, annotations)]);
    const run = async (text: string): Promise<unknown> => {
      world.time = at(text);
      const outcome = await reconciled(world.reconcilers.cronOperation, "it");
      date(world);
      return outcome;
    };
    return { world, run };
  }

  test("creates an Operation at each time, and waits for the next", async () => {
    const { world, run } = cron({});
    expect(await run("00:05:00")).toEqual({ requeueAfterMs: 300_000 });
    expect(names(world)).toEqual([]);
    expect(await run("00:10:00")).toEqual({ requeueAfterMs: 600_000 });
    expect(operations(world)).toMatchObject([
      {
        metadata: {
          name: nameAt("00:10:00"),
          labels: { team: "a", "ops.crossplane.io/cronoperation": "it" },
          ownerReferences: [{ kind: "CronOperation", name: "it", uid: "uid-it", controller: true }],
        },
        spec: TEMPLATE.spec,
      },
    ]);
    expect(world.status("CronOperation", "it")).toMatchObject({
      lastScheduleTime: "2026-01-01T00:10:00Z",
      runningOperationRefs: [{ name: nameAt("00:10:00") }],
    });
    expect(world.condition("CronOperation", "it", "Scheduling")).toBe("True/ScheduleActive");
    end(world);
    expect(await run("00:10:30")).toEqual({ requeueAfterMs: 570_000 });
    expect(world.status("CronOperation", "it")).toMatchObject({
      lastSuccessfulTime: "2026-01-01T00:10:00Z",
      runningOperationRefs: [],
    });
    await run("00:20:00");
    expect(names(world)).toEqual([nameAt("00:10:00"), nameAt("00:20:00")]);
  });

  test("creates one Operation for all times that it missed, and none after the deadline", async () => {
    const { world, run } = cron({});
    await run("00:45:00");
    expect(names(world)).toEqual([nameAt("00:10:00")]);
    await run("00:45:01");
    expect(names(world)).toHaveLength(1);
    const late = cron({ startingDeadlineSeconds: 60 });
    expect(await late.run("00:45:00")).toEqual({ requeueAfterMs: 300_000 });
    expect(names(late.world)).toEqual([]);
    await late.run("00:50:30");
    expect(names(late.world)).toEqual([nameAt("00:50:00")]);
  });

  test("creates no second Operation for a time, although the status was not written or the server's clock is behind", async () => {
    const { world, run } = cron({ successfulHistoryLimit: 0 });
    world.client.beforeWrite = ({ subresource }) => {
      if (subresource === "status") throw new Error("the controller ends here");
    };
    await run("00:10:00");
    for (const one of operations(world)) one.metadata["creationTimestamp"] = "2026-01-01T00:09:58Z";
    world.client.beforeWrite = () => undefined;
    await run("00:10:01");
    expect(names(world)).toHaveLength(1);
    end(world);
    await run("00:10:02");
    expect(names(world)).toHaveLength(0);
    await run("00:10:03");
    expect(names(world)).toHaveLength(0);
  });

  test("deletes ended Operations beyond the limits, the oldest first", async () => {
    const { world, run } = cron({ successfulHistoryLimit: 2 });
    for (const minute of ["10", "20", "30"]) {
      await run(`00:${minute}:00`);
      end(world);
    }
    await run("00:30:01");
    expect(names(world)).toEqual([nameAt("00:20:00"), nameAt("00:30:00")]);
  });

  test.each([
    ["Allow", ["00:10:00", "00:20:00"]],
    ["Forbid", ["00:10:00"]],
    ["Replace", ["00:20:00"]],
  ])("with %s has, while an Operation runs, those of %s", async (concurrencyPolicy, expected) => {
    const { world, run } = cron({ concurrencyPolicy });
    await run("00:10:00");
    await run("00:20:00");
    expect(names(world)).toEqual(expected.map(nameAt));
  });

  test("with a schedule that does not exist says so", async () => {
    const { world, run } = cron({ schedule: "0 0 31 2 *" });
    expect(await run("00:10:00")).toBe(undefined);
    expect(world.condition("CronOperation", "it", "Scheduling")).toContain("False/ScheduleInvalid: spec.schedule: ");
    await run("00:11:00");
    expect(world.events).toEqual([expect.stringContaining("Warning InvalidSchedule")]);
  });

  test("that is paused creates nothing", async () => {
    const { world, run } = cron({}, { "crossplane.io/paused": "true" });
    await run("00:10:00");
    expect(names(world)).toEqual([]);
    expect(world.condition("CronOperation", "it", "Scheduling")).toBe("False/SchedulePaused");
    expect(world.condition("CronOperation", "it", "Synced")).toBe("False/ReconcilePaused");
  });
});

describe("a WatchOperation", () => {
  const FINALIZERS = ["watchoperation.ops.crossplane.io"];

  function watching(spec: JsonObject = {}, annotations?: JsonObject) {
    const watch = { apiVersion: "v1", kind: "ConfigMap", namespace: "default" };
    const world = operationWorld([owner("WatchOperation", { watch, ...spec }, annotations)]);
    const change = (name: string, resourceVersion = "1", isDeleted = false): void => {
      const metadata = { name, namespace: "default", uid: `uid-${name}`, resourceVersion };
      world.watched.changes.push({ object: { apiVersion: "v1", kind: "ConfigMap", metadata }, isDeleted });
    };
    const run = async (): Promise<unknown> => {
      const outcome = await reconciled(world.reconcilers.watchOperation, "it");
      date(world);
      return outcome;
    };
    return { world, change, run };
  }

  test("creates an Operation for each version of an object, which its functions receive", async () => {
    const { world, change, run } = watching();
    world.watched.count = 1;
    change("a");
    await run();
    expect(world.object("WatchOperation", "it")?.metadata["finalizers"]).toEqual(FINALIZERS);
    expect(operations(world)).toMatchObject([
      {
        metadata: {
          name: expect.stringMatching(/^it-[0-9a-f]{7}$/),
          labels: { team: "a", "ops.crossplane.io/watchoperation": "it" },
          annotations: {
            "ops.crossplane.io/watched-resource-apiversion": "v1",
            "ops.crossplane.io/watched-resource-kind": "ConfigMap",
            "ops.crossplane.io/watched-resource-name": "a",
            "ops.crossplane.io/watched-resource-namespace": "default",
            "ops.crossplane.io/watched-resource-resourceversion": "1",
          },
        },
        spec: {
          pipeline: [
            {
              requirements: {
                requiredResources: [
                  {
                    requirementName: "ops.crossplane.io/watched-resource",
                    apiVersion: "v1",
                    kind: "ConfigMap",
                    namespace: "default",
                    name: "a",
                  },
                ],
              },
            },
          ],
        },
      },
    ]);
    expect(world.status("WatchOperation", "it")).toMatchObject({ watchingResources: 1 });
    expect(world.condition("WatchOperation", "it", "Watching")).toBe("True/WatchActive");
    change("a");
    await run();
    expect(names(world)).toHaveLength(1);
    change("a", "2");
    await run();
    change("a", "2", true);
    await run();
    expect(names(world)).toHaveLength(3);
    expect(world.watched.changes).toEqual([]);
  });

  test("creates none for an object that only lost a label", async () => {
    const { world, change, run } = watching();
    const metadata = { name: "a", namespace: "default", uid: "uid-a", resourceVersion: "2" };
    world.client.objects.set("a", { apiVersion: "v1", kind: "ConfigMap", metadata });
    world.client.get = async () => ({ apiVersion: "v1", kind: "ConfigMap", metadata });
    change("a", "2", true);
    await run();
    expect(names(world)).toEqual([]);
  });

  test("creates at most 100 unfinished Operations, and the others once these have ended", async () => {
    const { world, change, run } = watching({ successfulHistoryLimit: 0 });
    for (let index = 0; index < 150; index++) change(`a${index}`);
    await run();
    await run();
    expect(names(world)).toHaveLength(100);
    expect(world.watched.changes).toHaveLength(50);
    end(world);
    await run();
    expect(names(world)).toHaveLength(50);
    expect(world.watched.changes).toEqual([]);
  });

  test.each([
    ["Forbid", 1],
    ["Replace", 1],
  ])("with %s has one Operation at a time, and drops the other changes", async (concurrencyPolicy, count) => {
    const { world, change, run } = watching({ concurrencyPolicy });
    for (const name of ["a", "b", "c"]) change(name);
    await run();
    const before = names(world);
    expect(before).toHaveLength(count);
    change("d");
    await run();
    expect(names(world)).toHaveLength(count);
    expect(names(world)[0] === before[0]).toBe(concurrencyPolicy === "Forbid");
    expect(world.watched.changes).toEqual([]);
  });

  test("that is paused drops changes", async () => {
    const { world, change, run } = watching({}, { "crossplane.io/paused": "true" });
    change("a");
    await run();
    expect(names(world)).toEqual([]);
    expect(world.watched.changes).toEqual([]);
    expect(world.condition("WatchOperation", "it", "Watching")).toBe("False/WatchPaused");
  });

  test("says why it cannot watch", async () => {
    const { world, run } = watching();
    world.watched.problem = "configmaps is forbidden";
    await run();
    expect(world.condition("WatchOperation", "it", "Watching")).toBe(
      "False/WatchFailed: cannot watch ConfigMap: configmaps is forbidden",
    );
    expect(world.condition("WatchOperation", "it", "Synced")).toContain("False/ReconcileError");
  });

  test("ends its watch before its finalizer is removed", async () => {
    const { world, run } = watching();
    await run();
    const object = world.object("WatchOperation", "it");
    if (object !== undefined) object.metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    await run();
    expect(world.watched.ends).toBe(1);
    expect(world.object("WatchOperation", "it")).toBe(undefined);
  });
});

test("an Operation of another owner is left alone", async () => {
  const world = operationWorld([
    owner("CronOperation", { schedule: "* * * * *", successfulHistoryLimit: 0 }),
    operation(
      "other",
      {},
      { status: { conditions: [{ type: "Succeeded", status: "True", reason: "PipelineSuccess" }] } },
    ),
  ]);
  await reconciled(world.reconcilers.cronOperation, "it");
  expect(world.object("Operation", "other")).toBeDefined();
});
