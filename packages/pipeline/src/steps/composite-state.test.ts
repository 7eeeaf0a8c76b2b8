import type { FunctionIO } from "@xfn/functionio";
import type { JsonObject, JsonValue } from "@xfn/json";
import { expect, test } from "vitest";
import { changes, runOf, xr } from "../../testing/fixtures.ts";
import type { InProcessFunction } from "../in-process.ts";
import { CompositeState } from "./composite-state.ts";
import type { PipelineInput } from "./pipeline-input.ts";
import { type PipelineResult, runPipeline } from "./run-pipeline.ts";

const LABELS = { labels: { "crossplane.io/composite": "my-store" } };
const XR = xr(LABELS, { spec: { size: 3, tags: ["a"] }, status: { url: "http://x" } });

function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The run of functions, and the XR that each of them was given. */
async function run(
  functions: InProcessFunction[],
  input: Partial<PipelineInput> = {},
): Promise<PipelineResult & { given: unknown[] }> {
  const given: unknown[] = [];
  const spied = functions.map(
    (one): InProcessFunction =>
      (bytes, options) => {
        given.push((JSON.parse(Buffer.from(bytes).toString()) as FunctionIO).desired?.composite);
        return one(bytes, options);
      },
  );
  return { ...(await runPipeline({ ...runOf(...spied), composite: XR, ...input })), given };
}

/** A function that changes the XR that it is given, in place. */
function edits(change: (resource: JsonObject) => void): InProcessFunction {
  return changes((io) => {
    change(io.desired?.composite?.resource ?? {});
  });
}

function spec(resource: JsonObject): Record<string, JsonValue> {
  return resource["spec"] as Record<string, JsonValue>;
}

const asIs = changes(() => undefined);

test("functions get the whole XR and its connection details", async () => {
  const connectionDetails = [{ name: "uri", value: "x" }];
  const { given, desired } = await run([asIs, asIs], { connectionDetails });
  expect(given).toEqual([1, 2].map(() => ({ resource: XR, connectionDetails })));
  expect(desired.composite).toBeUndefined();
});

test("only the fields that a function changes are desired; lists are whole", async () => {
  const first = edits((resource) => Object.assign(spec(resource), { size: 4, tier: "gold" }));
  const second = edits((resource) => (spec(resource)["tags"] as JsonValue[]).push("b"));
  const { given, desired } = await run([first, second]);
  expect(given[1]).toMatchObject({
    resource: { spec: { size: 4, tier: "gold", tags: ["a"] }, status: { url: "http://x" } },
  });
  expect(plain(desired.composite)).toEqual({
    resource: {
      apiVersion: "example.org/v1alpha1",
      kind: "XStore",
      spec: { size: 4, tier: "gold", tags: ["a", "b"] },
    },
  });
});

test("a later function can take back a change, with or without a value", async () => {
  const set = edits((resource) => Object.assign(spec(resource), { size: 4, tier: "gold" }));
  const unset = edits((resource) => {
    spec(resource)["size"] = 3;
    delete spec(resource)["tier"];
  });
  const { desired } = await run([set, unset]);
  expect(plain(desired.composite?.resource?.["spec"])).toEqual({ size: 3 });
});

test("a function that returns no XR changes nothing of it, and the next one gets the observed one", async () => {
  const none = changes((io) => void delete io.desired?.composite);
  const { given, desired, results } = await run([none, asIs]);
  expect(given[1]).toEqual({ resource: XR });
  expect(desired.composite).toBeUndefined();
  expect(results).toEqual([]);
});

test("a field that an earlier run set stays desired while functions return it", async () => {
  const applied = { spec: { size: 3 }, metadata: { labels: {} } };
  const { desired } = await run([asIs], { applied });
  expect(plain(desired.composite?.resource)).toMatchObject({ spec: { size: 3 } });
  const without = await run([edits((resource) => void delete spec(resource)["size"])], { applied });
  expect(without.desired.composite?.resource).not.toHaveProperty("spec");
});

test("an empty object that an earlier run set stays desired while functions return it", async () => {
  const input = {
    composite: xr(LABELS, { spec: { size: 3, options: {} } }),
    applied: { spec: { options: {} } },
  };
  const { desired } = await run([asIs], input);
  expect(plain(desired.composite?.resource?.["spec"])).toEqual({ options: {} });
  const without = await run([edits((resource) => void delete spec(resource)["options"])], input);
  expect(without.desired.composite?.resource).not.toHaveProperty("spec");
});

test("a status that an earlier run set must be set again", async () => {
  const applied = { status: { url: "http://x" } };
  const { given, desired } = await run([asIs], { applied });
  expect(given[0]).toMatchObject({ resource: { status: {} } });
  expect(desired.composite?.resource).not.toHaveProperty("status");
  const again = edits((resource) => void (resource["status"] = { url: "http://x" }));
  const set = await run([again], { applied });
  expect(plain(set.desired.composite?.resource?.["status"])).toEqual({ url: "http://x" });
});

test("a function that returns an XR without the fields of earlier runs gives them up", async () => {
  const applied = { spec: { size: 3 }, status: { url: "http://x" } };
  const empty = changes((io) => {
    io.desired = { composite: { resource: { spec: {} } } };
  });
  const { desired } = await run([empty], { applied });
  expect(plain(desired.composite)).toEqual({ resource: {} });
  const silent = changes((io) => {
    io.desired = {};
  });
  expect((await run([silent], { applied })).desired.composite).toBeUndefined();
});

test("connection details that functions pass on stay published, and any other replaces them", async () => {
  const connectionDetails = [
    { name: "user", value: "a" },
    { name: "password", value: "old" },
    { name: "gone", value: "x" },
  ];
  const change = changes((io) => {
    const details = io.desired?.composite?.connectionDetails ?? [];
    for (const detail of details) if (detail.name === "password") detail.value = "new";
    details.splice(2, 1);
  });
  const run1 = await run([change], { connectionDetails });
  expect(Object.fromEntries(run1.connectionDetails)).toEqual({ user: "a", password: "new" });
  expect(plain(run1.desired.composite)).toEqual({ connectionDetails: [{ name: "password", value: "new" }] });
});

test("comparing connection details takes linear time, even if a function repeats them", () => {
  const given = { name: "user", value: "admin" };
  const state = new CompositeState({ composite: XR, connectionDetails: [given], desired: undefined });
  const count = 300_000;
  const other = Array.from({ length: count }, (_, at) => ({ name: `n${at}`, value: "v" }));
  const same = Array.from({ length: count }, () => ({ ...given }));
  // A comparison of each with each would take minutes.
  const desired = state.take({ connectionDetails: [...same, ...other] }, undefined);
  expect(desired?.connectionDetails).toHaveLength(count);
  expect(state.passedOn).toHaveLength(count);
});
