import { parseComposition } from "@xfn/composition";
import type { Desired } from "@xfn/functionio";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { describe, expect, test } from "vitest";
import type { StepRecord, TemplateWrite } from "../outcome/step-record.ts";
import { buildTrace, type TraceInput } from "./build-trace.ts";
import { originOf } from "./origin-of.ts";
import type { Trace, TraceChange } from "./trace.ts";

const XR: KubernetesObject = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "store" } };

const COMPOSITION = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: stores}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XStore}
  resources:
  - {name: first, base: {apiVersion: v1, kind: ConfigMap}}
  - {name: bucket, base: {apiVersion: v1, kind: ConfigMap}}
  functions:
  - {name: one, type: Container, container: {image: registry.example.org/one}}
  - {name: two, type: Container, container: {image: two}}
`;

function composition(): TraceInput["composition"] {
  const [document] = readDocuments(COMPOSITION);
  if (document === undefined) throw new Error("no document");
  return parseComposition(document);
}

const record = (name: string, before: Desired, after: Desired, rest: Partial<StepRecord> = {}): StepRecord => ({
  name,
  kind: "function",
  image: name,
  inputBytes: 10,
  outputBytes: 20,
  ms: 5,
  phases: { start: 1, run: 3 },
  before,
  after,
  results: [],
  ...rest,
});

const bucket = (spec: JsonObject, entry: JsonObject = {}): Desired => ({
  resources: [{ name: "bucket", resource: { apiVersion: "s3.example.org/v1", kind: "Bucket", spec }, ...entry }],
});

/** A trace of functions that leave these desired states behind, one after the other. */
function traced(states: Desired[], rest: Partial<TraceInput> = {}): Trace {
  const records = states.map((after, index) => record(`step-${index}`, states[index - 1] ?? {}, after));
  return buildTrace({ records, composite: XR, composition: composition(), ...rest });
}

const show = ({ op, part, path }: TraceChange): string => `${op} ${part === "resource" ? "" : `${part} `}${path}`;
const changesOf = (trace: Trace, step: number): string[] =>
  trace.steps[step]?.entries.flatMap(({ fields }) => fields.map(show)) ?? [];
const whoSet = (trace: Trace, path: string, entry: string | null = "bucket"): string[] =>
  originOf(trace, entry, path).map(({ path, origin }) => `${path}: ${origin.step}`);

describe("steps", () => {
  test("readiness that function packages report is a change; a failed step changes none", () => {
    const ready = (entries: [string | null, boolean][]): Partial<StepRecord> => ({ readiness: new Map(entries) });
    const one = bucket({ size: 1 });
    const error = { error: { code: "RunFailed", message: "no" } };
    const trace = buildTrace({
      records: [
        record("adds", {}, one),
        record("auto-ready", one, one, ready([["bucket", false]])),
        record(
          "again",
          one,
          one,
          ready([
            ["bucket", true],
            ["unknown", true],
            [null, true],
          ]),
        ),
        record("fails", one, one, error),
      ],
      composite: XR,
      composition: composition(),
    });
    expect([1, 2, 3].map((step) => changesOf(trace, step))).toEqual([
      ["added ready "],
      ["added ready ", "changed ready "],
      [],
    ]);
    expect(trace.steps[2]?.entries[1]).toMatchObject({ name: "bucket", change: "changed" });
    expect(trace.desired.map(({ name, fields }) => [name, fields.find(({ part }) => part === "ready")])).toEqual([
      [null, { part: "ready", path: "", value: true, origin: { step: "again", stepIndex: 2 } }],
      ["bucket", { part: "ready", path: "", value: true, origin: { step: "again", stepIndex: 2 } }],
    ]);
  });

  test("sizes, times and results are those of the record; steps after the end of the run have not run", () => {
    const results = [{ severity: "Fatal" as const, message: "no", reason: "Because", step: "one" }];
    const trace = buildTrace({
      records: [record("one", {}, bucket({ size: 1 }), { results, phases: { pull: 1, start: 2, run: 3 }, ms: 7 })],
      composite: XR,
      composition: composition(),
    });
    expect(trace).toMatchObject({
      version: 1,
      composite: { apiVersion: "example.org/v1", kind: "XStore", name: "store" },
      composition: "stores",
      ms: 7,
      steps: [
        {
          name: "one",
          status: "Fatal",
          inputBytes: 10,
          outputBytes: 20,
          ms: 7,
          phases: { pull: 1, start: 2, run: 3 },
          added: 3,
          changed: 0,
          removed: 0,
          results: [{ severity: "Fatal", message: "no", reason: "Because" }],
        },
        { name: "two", image: "two", status: "NotRun" },
      ],
    });
  });

  test("a step that could not be run has failed, and changes nothing", () => {
    const before = bucket({ size: 1 });
    const error = { code: "RunFailed", message: "it could not be run" };
    const { steps } = buildTrace({
      records: [record("one", {}, before), record("two", before, before, { error })],
      composite: XR,
      composition: composition(),
    });
    expect(steps[1]).toMatchObject({ status: "Failed", error, entries: [], added: 0 });
  });

  test("additions, changes and removals are reported field by field, including empty lists and objects", () => {
    const trace = traced([
      bucket({ size: 1, list: [], gone: { deep: [true] }, same: null }),
      bucket({ size: 2, list: ["a"], empty: {}, same: null }),
    ]);
    expect(trace.steps[1]?.entries).toEqual([
      {
        name: "bucket",
        apiVersion: "s3.example.org/v1",
        kind: "Bucket",
        change: "changed",
        fields: [
          { op: "removed", part: "resource", path: "spec.gone.deep[0]", before: true },
          { op: "changed", part: "resource", path: "spec.size", before: 1, after: 2 },
          { op: "added", part: "resource", path: "spec.list[0]", after: "a" },
          { op: "added", part: "resource", path: "spec.empty", after: {} },
        ],
      },
    ]);
    expect(trace.steps[1]).toMatchObject({ added: 2, changed: 1, removed: 1 });
  });

  test("the replacement of a scalar is reported as removed and added", () => {
    expect(changesOf(traced([bucket({ a: 1 }), bucket({ a: { b: 1 } })]), 1)).toEqual([
      "removed spec.a",
      "added spec.a.b",
    ]);
  });

  test("an entry may be added, removed, marked for deletion, and added again", () => {
    const nothing: Desired = { resources: [] };
    const deleted: Desired = { resources: [{ name: "bucket", resource: null }] };
    const trace = traced([bucket({}), nothing, deleted, bucket({})]);
    expect(trace.steps.map(({ entries }) => entries.map(({ change }) => change))).toEqual([
      ["added"],
      ["removed"],
      ["deleted"],
      ["added"],
    ]);
    expect(traced([bucket({}), deleted]).desired).toEqual([
      { name: "bucket", state: "Deleted", origin: { step: "step-1", stepIndex: 1 }, fields: [] },
    ]);
  });

  test("the XR comes first, then entries by name; details and checks are separate parts", () => {
    const trace = traced([
      {
        composite: { resource: { status: { host: "h" } } },
        resources: [
          { name: "b", resource: null },
          {
            name: "a",
            resource: {},
            readinessChecks: [{ type: "None" }],
            connectionDetails: [{ name: "port", fromFieldPath: "p" }],
          },
        ],
      },
    ]);
    expect(trace.desired.map(({ name }) => name)).toEqual([null, "a", "b"]);
    expect(changesOf(trace, 0)).toEqual([
      "added status.host",
      "added ",
      "added readinessChecks [0].type",
      "added connectionDetails [0].name",
      "added connectionDetails [0].fromFieldPath",
    ]);
  });
});

describe("the origin of a field", () => {
  test("is the last step that changed it", () => {
    const trace = traced([
      bucket({ size: 1, region: "eu" }),
      bucket({ size: 2, region: "eu" }),
      bucket({ size: 2, region: "eu" }),
    ]);
    expect(whoSet(trace, "spec.size")).toEqual(["spec.size: step-1"]);
    expect(whoSet(trace, "spec")).toEqual(["spec.size: step-1", "spec.region: step-0"]);
    expect(whoSet(trace, "spec.none")).toEqual([]);
    expect(whoSet(trace, "spec.siz")).toEqual([]);
    expect(whoSet(trace, "spec.size", null)).toEqual([]);
  });

  test("is the step that removed and set it again, even to the same value", () => {
    expect(whoSet(traced([bucket({ a: 1 }), bucket({}), bucket({ a: 1 })]), "spec.a")).toEqual(["spec.a: step-2"]);
  });

  test("elements of a list keep their origin when others are inserted or removed", () => {
    const item = (name: string): JsonObject => ({ name, value: name });
    const list = (...names: string[]): Desired => bucket({ list: names.map(item) });
    const names = (states: Desired[]): string[] =>
      originOf(traced(states), "bucket", "spec.list")
        .filter(({ path }) => path.endsWith("name"))
        .map(({ value, origin }) => `${value as string}: ${origin.step}`);
    expect(names([list("b"), list("a", "b"), list("a", "c", "b")])).toEqual(["a: step-1", "c: step-2", "b: step-0"]);
    expect(names([list("a", "b", "c"), list("a", "c")])).toEqual(["a: step-0", "c: step-0"]);
    expect(changesOf(traced([list("a", "b", "c"), list("a", "c")]), 1)).toEqual([
      "removed spec.list[1].name",
      "removed spec.list[1].value",
    ]);
  });

  test("paths may be written with quotes and brackets", () => {
    const trace = traced([bucket({ "example.org/a": 1, "b/c": 2 })]);
    expect(whoSet(trace, "spec['example.org/a']")).toEqual(["spec[example.org/a]: step-0"]);
    expect(whoSet(trace, 'spec["b/c"]')).toEqual(["spec.b/c: step-0"]);
  });

  test("keys such as __proto__ are data", () => {
    const spec = JSON.parse('{"__proto__": {"a": 1}, "constructor": {"prototype": 2}}') as JsonObject;
    const trace = traced([bucket(spec), bucket({ ...spec, b: 1 })]);
    expect(whoSet(trace, "spec")).toEqual([
      "spec.__proto__.a: step-0",
      "spec.constructor.prototype: step-0",
      "spec.b: step-1",
    ]);
    expect(({} as JsonObject)["a"]).toBeUndefined();
  });

  test("integers of 64 bits stay exact, and are the same as a number of the same value", () => {
    const trace = traced([bucket({ big: 9007199254740993n, one: 1n }), bucket({ big: 9007199254740993n, one: 1 })]);
    expect(printJson(trace as unknown as JsonObject)).toContain('"value":9007199254740993');
    expect(changesOf(trace, 1)).toEqual([]);
  });
});

describe("the origin of a field, in templates", () => {
  const write = (path: string, index: number, rest: Partial<TemplateWrite> = {}): TemplateWrite => ({
    resource: "bucket",
    path,
    template: "bucket",
    source: `spec.resources[1].patches[${index}]`,
    from: `FromCompositeFieldPath spec.${index}`,
    ...rest,
  });
  const after: Desired = {
    composite: { resource: { apiVersion: "example.org/v1", kind: "XStore", status: { zone: "z" } } },
    resources: [
      {
        name: "bucket",
        resource: {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            generateName: "store-",
            labels: { "crossplane.io/composite": "store", team: "a" },
            annotations: { "crossplane.io/composition-resource-name": "bucket", note: "n" },
            ownerReferences: [{ uid: "" }],
          },
          spec: { map: { a: 1, b: 2 }, base: true, list: [{ x: 1 }, { x: 2 }] },
        },
      },
    ],
  };
  const templates = (writes: TemplateWrite[]): Trace =>
    buildTrace({
      records: [record("templates", {}, after, { kind: "templates", writes })],
      composite: XR,
      composition: composition(),
    });
  const origin = (trace: Trace, path: string, entry: string | null = "bucket"): unknown =>
    originOf(trace, entry, path)[0]?.origin;

  test("is a patch that wrote it, or a parent of it", () => {
    const trace = templates([write("spec.map", 0), write("spec.list[1]", 1)]);
    const patched = { step: "templates", stepIndex: 0, template: "bucket", from: "FromCompositeFieldPath spec.0" };
    expect(origin(trace, "spec.map.b")).toEqual({ ...patched, source: "spec.resources[1].patches[0]" });
    expect(origin(trace, "spec.list[1].x")).toMatchObject({ source: "spec.resources[1].patches[1]" });
    expect(trace.steps[0]?.entries[1]?.fields).toContainEqual(
      expect.objectContaining({ path: "spec.map.b", origin: { ...patched, source: "spec.resources[1].patches[0]" } }),
    );
  });

  test("is the last of several patches, however much it wrote", () => {
    const inner = write("spec.map.a", 0);
    const outer = write("spec.map", 1);
    expect(origin(templates([inner, outer]), "spec.map.a")).toMatchObject({ source: outer.source });
    expect(origin(templates([outer, inner]), "spec.map.a")).toMatchObject({ source: inner.source });
    expect(origin(templates([outer, inner]), "spec.map.b")).toMatchObject({ source: outer.source });
  });

  test("is the base if no patch wrote it", () => {
    const base = {
      step: "templates",
      stepIndex: 0,
      template: "bucket",
      source: "spec.resources[1].base",
      from: "base",
    };
    const trace = templates([write("spec.map", 0), write("spec.base", 1, { resource: "other" })]);
    expect(origin(trace, "spec.base")).toEqual(base);
    expect(origin(trace, "spec.list[0].x")).toEqual(base);
    expect(origin(trace, "metadata.annotations.note")).toEqual(base);
  });

  test("is the pipeline for the identity of a resource", () => {
    const trace = templates([write("metadata.labels", 0), write("metadata.labels[crossplane.io/composite]", 1)]);
    for (const path of ["labels[crossplane.io/composite]", "ownerReferences", "generateName"]) {
      expect(origin(trace, `metadata.${path}`)).toMatchObject({ from: "identity", template: "bucket" });
    }
    expect(origin(trace, "metadata.labels.team")).toMatchObject({ source: "spec.resources[1].patches[0]" });
    expect(origin(trace, "kind", null)).toEqual({ step: "templates", stepIndex: 0, from: "identity" });
    expect(origin(templates([write("metadata.generateName", 0)]), "metadata.generateName")).toMatchObject({
      source: "spec.resources[1].patches[0]",
    });
  });

  test("is a patch to the XR, of a template or of the environment", () => {
    const source = "spec.environment.patches[0]";
    const { template: _, ...fromEnvironment } = write("status.zone", 0, { resource: null, source });
    expect(origin(templates([fromEnvironment]), "status.zone", null)).toEqual({
      step: "templates",
      stepIndex: 0,
      source,
      from: "FromCompositeFieldPath spec.0",
    });
  });

  test("is a later function that changed the field", () => {
    const later = structuredClone(after);
    const resource = later.resources?.[0]?.resource as { spec: JsonObject };
    resource.spec["base"] = false;
    const trace = buildTrace({
      records: [record("templates", {}, after, { kind: "templates", writes: [] }), record("one", after, later)],
      composite: XR,
      composition: composition(),
    });
    expect(origin(trace, "spec.base")).toEqual({ step: "one", stepIndex: 1 });
    expect(origin(trace, "spec.map.a")).toMatchObject({ step: "templates" });
  });
});
