import { expect, test } from "vitest";
import { bucket, changes, xr } from "../../testing/fixtures.ts";
import { inProcessRunner } from "../in-process.ts";
import { render, type TestPackage } from "./index.ts";

const composition = (...steps: object[]): object => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "stores" },
  spec: {
    compositeTypeRef: { apiVersion: "example.org/v1alpha1", kind: "XStore" },
    mode: "Pipeline",
    pipeline: steps,
  },
});

const TEMPLATES = { step: "templates", functionRef: { name: "function-templates" } };
const adds: TestPackage = () => ({
  desired: { resources: new Map([["a", { resource: bucket(), ready: true }]]) },
  context: { "example.org/secret": "hunter2" },
  ttlMs: 60_000,
});

test("renders packages as handlers, and FunctionIO functions", async () => {
  const ours = { step: "ours", container: { image: "ours" } };
  const rendering = await render({
    composite: xr(),
    composition: composition(TEMPLATES, ours),
    packages: { "function-templates": adds },
    runner: inProcessRunner({ ours: changes((io) => void (io.results = [{ severity: "Normal", message: "seen" }])) }),
  });
  expect(rendering.resources.map(({ kind }) => kind)).toEqual(["Bucket"]);
  expect(rendering.unready).toEqual([]);
  expect(rendering.results).toMatchObject([{ message: "seen", step: "ours" }]);
});

test("the trace has the calls of packages, without values of the context, and steps that did not run", async () => {
  const fatal: TestPackage = () => ({ results: [{ severity: "Fatal", message: "no", target: "Composite" }] });
  const steps = ["fatal", "after"].map((step) => ({ step, functionRef: { name: step } }));
  const { trace } = await render({
    composite: xr(),
    composition: composition(TEMPLATES, ...steps),
    packages: { templates: adds, fatal, after: adds },
  });
  expect(trace.steps).toMatchObject([
    {
      name: "templates",
      image: "function-templates",
      calls: { count: 1, requirements: [], contextKeys: ["example.org/secret"], ttlMs: 60_000 },
      phases: { run: expect.any(Number) },
    },
    { name: "fatal", status: "Fatal" },
    { name: "after", image: "after", status: "NotRun" },
  ]);
  expect(JSON.stringify(trace)).not.toContain("hunter2");
});

test("a trace has the fields of packages in one order, for any order on the wire", async () => {
  const traced = async (data: Record<string, string>): Promise<string[]> => {
    const resource = { ...bucket(), data };
    const packages = { templates: () => ({ desired: { resources: new Map([["a", { resource }]]) } }) };
    const { trace } = await render({ composite: xr(), composition: composition(TEMPLATES), packages });
    return trace.steps.flatMap(({ entries }) => entries.flatMap(({ fields }) => fields.map(({ path }) => path)));
  };
  const fields = await traced({ b: "2", a: "1" });
  expect(fields).toEqual(await traced({ a: "1", b: "2" }));
  expect(fields.filter((path) => path.startsWith("data"))).toEqual(["data.a", "data.b"]);
});

test.each([
  ["no handler for a step", {}, "MissingFunction"],
  ["a handler for no step", { templates: adds, template: adds }, "UnknownFunction"],
])("%s is an error before anything runs", async (_, packages, code) => {
  await expect(render({ composite: xr(), composition: composition(TEMPLATES), packages })).rejects.toMatchObject({
    code,
  });
});

const functionDocument = (name: string, fields: object = {}): object => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "Function",
  metadata: { name },
  spec: { package: "example.org/function:v1" },
  ...fields,
});

test.each([
  ["no Function for a step", [functionDocument("function-template")], { code: "MissingFunction" }],
  ["two Functions of a name", [functionDocument("a"), functionDocument("a")], { code: "InvalidInput" }],
  ["another kind", [{ apiVersion: "v1", kind: "ConfigMap" }], { code: "InvalidInput" }],
  ["an unknown pull policy", functionDocument("a", { spec: { packagePullPolicy: "Often" } }), { code: "InvalidInput" }],
])("functionPackages with %s is an error before anything runs", async (_, functionPackages, error) => {
  const input = { composite: xr(), composition: composition(TEMPLATES), functionPackages };
  await expect(render(input)).rejects.toMatchObject(error);
});

test("a Function that is missing has a way out, and the name that was meant", async () => {
  const functionPackages = functionDocument("function-template");
  const failed = render({ composite: xr(), composition: composition(TEMPLATES), functionPackages });
  await expect(failed).rejects.toThrow(/functionPackages: file\("functions.yaml"\).*function-template/);
});

test("functions run at a runner that serves them, each once, and end with the render", async () => {
  const served: [string, object | undefined][] = [];
  const serve = async (image: string, options?: object): Promise<never> => {
    served.push([image, options]);
    return await Promise.reject(new Error("not started"));
  };
  const runner = { ...inProcessRunner({}), serve };
  const second = { step: "again", functionRef: { name: "function-templates" } };
  const spec = { package: "oci:images/a", packagePullPolicy: "Never" };
  const functionPackages = functionDocument("function-templates", { spec });
  const input = { composite: xr(), composition: composition(TEMPLATES, second), functionPackages, runner };
  await expect(render(input)).rejects.toMatchObject({ code: "RunFailed", step: "templates" });
  expect(served).toMatchObject([["oci:images/a", { pullPolicy: "Never" }]]);
});
