import { type Desired, type FunctionIO, parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { ResponseCache } from "@xfn/pipeline";
import { inProcessRunner } from "@xfn/pipeline/in-process";
import { expect, test } from "vitest";
import { get, owner, secret, WIDGET, type World, widget, world, xr } from "../harness/composite-memory.ts";

// XRs of a Composition with mode: Pipeline, whose only step is a FunctionIO container.

/**
 * @param desire returns the desired state of the step
 * @param step fields of the step
 */
function pipelineWorld(
  objects: readonly LiveObject[],
  desire: (io: FunctionIO) => Desired,
  step: JsonObject = {},
  how: Parameters<typeof world>[1] = {},
): World {
  const encoder = new TextEncoder();
  const runner = inProcessRunner({
    image: (input) => {
      const io = parseFunctionIO(input);
      return encoder.encode(printFunctionIO({ ...io, desired: desire(io) }));
    },
  });
  const w = world(objects, { runner, ...how });
  w.composeSpec({ mode: "Pipeline", pipeline: [{ step: "only", container: { image: "image" }, ...step }] });
  return w;
}

const statusOf = ({ client }: World): JsonObject => get(client, "XDatabase", "xr")?.["status"] as JsonObject;
const withStatus = (status: JsonObject): Desired => ({
  composite: { resource: { apiVersion: "example.org/v1", kind: "XDatabase", status } },
});

test("the connection secret of a composed resource is given to the step, and published", async () => {
  const composed = { ...widget("a", "a"), spec: { writeConnectionSecretToRef: { namespace: "team", name: "its" } } };
  const objects = [
    xr({
      resourceRefs: [{ ...WIDGET, name: "a" }],
      writeConnectionSecretToRef: { namespace: "team", name: "published" },
    }),
    composed,
    secret("team", "its", [{ ...owner("uid-a"), kind: "Widget", name: "a" }]),
  ];
  let seen: unknown;
  const w = pipelineWorld(objects, ({ observed }) => {
    seen = observed.resources?.map(({ connectionDetails = [] }) => connectionDetails.map(({ name }) => name));
    const connectionDetails = [
      { name: "user", type: "FromConnectionSecretKey", fromConnectionSecretKey: "user" } as const,
    ];
    return { resources: [{ name: "a", resource: { ...WIDGET, spec: { size: 1 } }, connectionDetails }] };
  });
  await w.reconcile();
  expect(seen).toEqual([["user"]]);
  expect(get(w.client, "Secret", "published")?.["data"]).toEqual(get(w.client, "Secret", "its")?.["data"]);
});

test("a status field that the step no longer desires is removed, and the conditions stay", async () => {
  let desired = withStatus({ size: 3 });
  const w = pipelineWorld([xr()], () => desired);
  await w.reconcile();
  expect(statusOf(w)).toMatchObject({ size: 3 });
  desired = {};
  await w.reconcile();
  expect(Object.keys(statusOf(w))).toEqual(["conditions"]);
  expect(statusOf(w)["conditions"]).toMatchObject([
    { type: "Responsive" },
    { type: "Synced", status: "True" },
    { type: "Ready" },
  ]);
  w.client.writes.length = 0;
  await w.reconcile();
  expect(w.client.writes).toEqual([]);
});

test("a steady XR calls no step with cache, until the time to live has passed or the XR changes", async () => {
  let now = 0;
  let calls = 0;
  const count = (io: FunctionIO): Desired => {
    calls++;
    const resource = io.observed.composite?.resource ?? {};
    const size = ((resource["spec"] as JsonObject | undefined) ?? {})["size"] ?? 0;
    return { ...withStatus({ size }), resources: [{ name: "a", resource: { ...WIDGET, spec: { size } } }] };
  };
  const responses = new ResponseCache({ maxBytes: 1_000_000, now: () => now });
  const w = pipelineWorld([xr({ size: 1 })], count, { cache: { ttl: "10m" } }, { responses });
  // The first ones change the XR, which is a part of the input.
  for (let reconciles = 0; reconciles < 3; reconciles++) await w.reconcile();
  const steady = calls;
  now = 300_000;
  // The time to live of an output does not change when the XR is reconciled again.
  expect(await w.reconcile()).toBeUndefined();
  expect(calls).toBe(steady);
  now = 700_000;
  for (let reconciles = 0; reconciles < 2; reconciles++) await w.reconcile();
  expect(calls).toBe(steady + 1);
  await w.client.patch({ apiVersion: "example.org/v1", kind: "XDatabase", name: "xr" }, "merge", { spec: { size: 2 } });
  await w.reconcile();
  expect(calls).toBe(steady + 2);
  expect(statusOf(w)).toMatchObject({ size: 2 });
});

test("a function can set conditions, but not those of the controller", async () => {
  const reserved = ["Synced", "Ready", "Responsive"].map((type) => ({ type, status: "False", reason: "Mine" }));
  const network = { type: "Network", status: "True", reason: "Mine" };
  const w = pipelineWorld([xr()], () => withStatus({ conditions: [...reserved, network] }));
  for (let count = 0; count < 2; count++) {
    await w.reconcile();
    expect(statusOf(w)["conditions"]).toMatchObject([
      network,
      { type: "Responsive" },
      { type: "Synced", reason: "ReconcileSuccess" },
      { type: "Ready", status: "True", reason: "Available" },
    ]);
  }
});

test("a run that only the XR's own writes cause is postponed as the order says, and no other is", async () => {
  let calls = 0;
  const asked: string[] = [];
  const runOrder = {
    began: () => undefined,
    ended: () => undefined,
    postponedMs: (uid: string): number => {
      asked.push(uid);
      return 300;
    },
  };
  const desire = (): Desired => {
    calls++;
    return {
      resources: [{ name: "a", resource: { ...WIDGET, spec: { size: 1 } }, readinessChecks: [{ type: "None" }] }],
    };
  };
  const w = pipelineWorld([xr()], desire, {}, { runOrder });
  await w.reconcile();
  expect(await w.reconcile()).toEqual({ requeueAfterMs: 300 });
  expect([calls, asked]).toEqual([1, ["xr-uid"]]);
  const [composed] = [...w.client.objects.values()].filter(({ kind }) => kind === "Widget");
  await w.client.apply(
    { ...WIDGET, metadata: { name: composed?.metadata.name ?? "" }, status: { ok: true } },
    { fieldManager: "provider", subresource: "status" },
  );
  await w.reconcile();
  expect(calls).toBe(2);
  // That run wrote nothing, so an event after it has another cause.
  await w.reconcile();
  expect([calls, asked]).toEqual([3, ["xr-uid"]]);
});

test("an XR that is not Ready runs again at once", async () => {
  let calls = 0;
  const runOrder = { began: () => undefined, ended: () => undefined, postponedMs: () => 300 };
  const desire = (): Desired => {
    calls++;
    return { resources: [{ name: "a", resource: { ...WIDGET, spec: { size: 1 } } }] };
  };
  const w = pipelineWorld([xr()], desire, {}, { runOrder });
  for (let count = 0; count < 2; count++) await w.reconcile();
  expect(calls).toBe(2);
});
