import { parseResourceList, type ResourceList } from "@xfn/functionio";
import type { JsonValue } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { describe, expect, test } from "vitest";
import { bucket, compositionOf, desires, failure, packagesOf, xr } from "../../testing/fixtures.ts";
import { type InProcessFunction, inProcessRunner } from "../in-process.ts";
import { runPipeline } from "./run-pipeline.ts";

const TYPE = "fn.apiextensions.crossplane.io/type";
const NAME = "fn.apiextensions.crossplane.io/name";

/** A function that changes the list which it reads. */
function lists(change: (list: ResourceList) => void, seen: ResourceList[] = []): InProcessFunction {
  return (input) => {
    const list = parseResourceList(input);
    seen.push(structuredClone(list));
    change(list);
    return new TextEncoder().encode(printJson(list));
  };
}

/** An item as a function makes it. */
function composed(name: string, rest: Record<string, JsonValue> = {}) {
  return bucket({ metadata: { annotations: { [TYPE]: "ComposedResource", [NAME]: name } }, ...rest });
}

function runWith(fn: InProcessFunction, step: Record<string, JsonValue> = {}, spec: Record<string, JsonValue> = {}) {
  return {
    composite: xr({ uid: "u-1" }),
    composition: compositionOf([{ name: "list", io: "ResourceList", container: { image: "list" }, ...step }], spec),
    runner: inProcessRunner({ list: fn, make: desires({ made: bucket() }) }),
  };
}

describe("functions", () => {
  test.each([
    ["ResourceList", "fn.apiextensions.crossplane.io/v1alpha1"],
    ["KRM", "config.kubernetes.io/v1"],
  ])("io: %s writes and reads %s", async (io, apiVersion) => {
    const seen: ResourceList[] = [];
    const config = { apiVersion: "v1", kind: "ConfigMap", data: { team: "x" } };
    const observed = [{ name: "old", resource: bucket({ metadata: { name: "old-1", uid: "2" }, status: { a: 1 } }) }];
    const make = lists(({ items }) => void items.push(composed("new")), seen);
    const { composed: after } = await runPipeline({ ...runWith(make, { io, config }), observed });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ apiVersion, functionConfig: config });
    expect(seen[0]?.items.map(({ kind }) => kind)).toEqual(["XStore", "Bucket"]);
    expect(after.map(({ name }) => name)).toEqual(["new", "old"]);
    expect(JSON.stringify(after)).not.toContain(TYPE);
    expect(after[1]?.resource).not.toHaveProperty("status");
  });

  test("an item that is left out is absent, and undesiredResources decides", async () => {
    const observed = [{ name: "old", resource: bucket({ metadata: { name: "old-1" } }) }];
    const drop = lists((list) => void list.items.splice(1));
    const kept = await runPipeline({ ...runWith(drop), observed });
    expect([kept.composed, kept.deleted]).toEqual([[], []]);
    const deleted = await runPipeline({ ...runWith(drop, {}, { undesiredResources: "Delete" }), observed });
    expect(deleted.deleted).toEqual(["old"]);
  });

  test("an item of an earlier step that is left out is a warning", async () => {
    const run = runWith(lists((list) => void list.items.splice(1)));
    const composition = compositionOf([
      { name: "make", container: { image: "make" } },
      { name: "list", io: "KRM", container: { image: "list" } },
    ]);
    const { results } = await runPipeline({ ...run, composition });
    expect(results).toEqual([{ severity: "Warning", step: "list", message: expect.stringContaining('"made"') }]);
  });

  test("only its changes of the XR are desired", async () => {
    const change = lists(({ items: [item] }) => Object.assign(item ?? {}, { status: { host: "h" } }));
    const { desired } = await runPipeline(runWith(change));
    expect(desired.composite?.resource).toEqual({
      apiVersion: "example.org/v1alpha1",
      kind: "XStore",
      status: { host: "h" },
    });
  });

  test("Error is Fatal", async () => {
    const fail = lists((list) => void (list.results = [{ severity: "Error", message: "no" }]));
    const { fatal, composed: after } = await runPipeline(runWith(fail));
    expect([fatal, after]).toEqual([{ severity: "Fatal", message: "no", step: "list" }, []]);
  });

  test("an XR that comes back without its uid and namespace is the XR", async () => {
    const bare = lists(({ items }) => {
      for (const { metadata } of items) delete metadata?.uid;
      items.push(composed("new"));
    });
    const { composed: after } = await runPipeline(runWith(bare));
    expect(after.map(({ name }) => name)).toEqual(["new"]);
  });

  test("a fatal result counts although the XR is missing", async () => {
    const fail = lists((list) => Object.assign(list, { items: [], results: [{ severity: "Error", message: "no" }] }));
    expect((await runPipeline(runWith(fail))).fatal).toMatchObject({ message: "no", step: "list" });
  });

  test.each<[string, (list: ResourceList) => void, string]>([
    ["no composite", ({ items }) => void items.shift(), "has no CompositeResource"],
    ["another XR", ({ items: [item] }) => Object.assign(item?.metadata ?? {}, { name: "x" }), "items[0].metadata.name"],
    ["no name", ({ items }) => void items.push(composed("")), NAME],
  ])("%s is an error that names the step", async (_name, change, text) => {
    const error = await failure(runPipeline(runWith(lists(change))));
    expect(error).toMatchObject({ code: "InvalidOutput", step: "list", image: "list" });
    expect(error.message).toContain(text);
    expect(error.message).toContain("not a ResourceList");
  });
});

describe("mode: Pipeline", () => {
  const pipeline = (...after: Record<string, JsonValue>[]) =>
    compositionOf([], {
      mode: "Pipeline",
      functions: [],
      pipeline: [
        { step: "package", functionRef: { name: "f" } },
        { step: "list", type: "Container", io: "KRM", container: { image: "list" } },
        ...after,
      ],
    });
  const observed = [
    { name: "a", resource: bucket({ metadata: { name: "a-1" }, spec: { region: "eu", late: true } }) },
    { name: "undesired", resource: bucket({ metadata: { name: "b-1" } }) },
  ];
  const functions = packagesOf(() => ({ desired }) => ({
    desired: { ...desired, resources: new Map([["a", { resource: bucket(), connectionDetails: new Map() }]]) },
  }));

  test("gets what is desired, and what no step desires is deleted", async () => {
    const seen: ResourceList[] = [];
    const label = lists(({ items }) => {
      for (const { metadata } of items) if (metadata) metadata.labels = { ...metadata.labels, team: "x" };
    }, seen);
    const run = { ...runWith(label), composition: pipeline(), observed, functions };
    const { composed: after, deleted } = await runPipeline(run);
    expect(seen[0]?.items.map(({ metadata }) => metadata?.annotations?.[NAME])).toEqual([undefined, "a"]);
    expect(after[0]?.resource).toMatchObject({ metadata: { labels: { team: "x" } }, spec: { late: true } });
    expect(deleted).toEqual(["undesired"]);
  });

  test("an XR that comes back unchanged is not desired", async () => {
    const run = { ...runWith(lists(() => undefined)), composition: pipeline(), observed, functions };
    const { desired } = await runPipeline(run);
    expect(desired.composite).toBeUndefined();
  });
});
