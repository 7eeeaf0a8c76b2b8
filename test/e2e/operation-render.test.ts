import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Finished, runXfn } from "../../packages/cli/testing/run-xfn.ts";
import {
  type FunctionServer,
  serveTestFunction,
  type TestResponse,
} from "../../packages/function-grpc/testing/function-server.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// Operations on the command line, with a function that runs already. It returns the response in its input.

const STEPS = (response: string): string => `
      mode: Pipeline
      pipeline:
      - step: one
        functionRef: {name: function-dummy}
        input: {apiVersion: dummy.fn.crossplane.io/v1beta1, kind: Response, response: ${response}}
`;
const MADE = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: made}, data: {a: b}}";
const RESPONSE = `{resources: {made: {resource: ${MADE}}}, output: {total: 1}, results: [{message: hi}], context: {k: v}}`;

describe("xfn operation render", () => {
  let fn: FunctionServer;
  let dir: string;
  let required: JsonObject[] | undefined;

  const write = (name: string, text: string): string => {
    const path = join(dir, name);
    writeFileSync(path, text);
    return path;
  };
  const render = (file: string, ...flags: readonly string[]): Promise<Finished> =>
    runXfn(["operation", "render", file, join(dir, "functions.yaml"), ...flags]);
  const documents = (text: string): JsonObject[] => readDocuments(text).map(({ value }) => value as JsonObject);

  beforeAll(async () => {
    dir = temporaryFolder();
    fn = await serveTestFunction(({ input, required: found }) => {
      required = found("ops.crossplane.io/watched-resource");
      return input["response"] as TestResponse;
    });
    write(
      "functions.yaml",
      `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-dummy
  annotations:
    render.crossplane.io/runtime: Development
    render.crossplane.io/runtime-development-target: ${fn.address}
spec: {package: registry.example.org/dummy:v1}
`,
    );
  });
  afterAll(() => fn.stop());

  const operation = (name: string, response: string): string =>
    write(
      name,
      `apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: op}\nspec:${STEPS(response)}`,
    );

  test("prints the Operation with its status, the objects that it applies, results and context", async () => {
    const { code, stdout, stderr } = await render(operation("operation.yaml", RESPONSE), "-r", "-c");
    expect(stderr).toBe("");
    expect(code).toBe(0);
    const lastTransitionTime = "2024-01-01T00:00:00Z";
    expect(documents(stdout)).toEqual([
      {
        apiVersion: "ops.crossplane.io/v1alpha1",
        kind: "Operation",
        metadata: { name: "op" },
        status: {
          appliedResourceRefs: [{ apiVersion: "v1", kind: "ConfigMap", name: "made", namespace: "default" }],
          conditions: [
            { lastTransitionTime, reason: "PipelineSuccess", status: "True", type: "Succeeded" },
            { lastTransitionTime, reason: "ValidPipeline", status: "True", type: "ValidPipeline" },
            { lastTransitionTime, reason: "ReconcileSuccess", status: "True", type: "Synced" },
          ],
          pipeline: [{ step: "one", output: { total: 1 } }],
        },
      },
      ...documents(MADE),
      {
        apiVersion: "render.crossplane.io/v1beta1",
        kind: "Result",
        severity: "Normal",
        reason: "RunPipelineStep",
        message: 'Pipeline step "one": hi',
      },
      { apiVersion: "render.crossplane.io/v1beta1", kind: "Context", fields: { k: "v" } },
    ]);
    const full = await render(join(dir, "operation.yaml"), "-o", "--output", "json");
    expect(JSON.parse(full.stdout)).toMatchObject({ kind: "List", items: [{ spec: { mode: "Pipeline" } }, {}] });
  });

  test("prints the Operation alone after a fatal result, and fails", async () => {
    const { code, stdout, stderr } = await render(
      operation("fatal.yaml", "{results: [{severity: 1, message: broken}]}"),
    );
    expect(code).toBe(1);
    expect(stderr).toContain('fatal: step "one": broken');
    const [printed, ...more] = documents(stdout);
    expect(more).toEqual([]);
    expect(printed?.["status"]).toMatchObject({ failures: 1 });
    expect(stdout).toContain("reason: ReconcileError");
  });

  test("renders the template of a WatchOperation with the object that it watches", async () => {
    const file = write(
      "watch.yaml",
      `apiVersion: ops.crossplane.io/v1alpha1
kind: WatchOperation
metadata: {name: changes}
spec:
  watch: {apiVersion: v1, kind: ConfigMap}
  operationTemplate:
    metadata: {labels: {a: b}}
    spec:${STEPS("{}").replaceAll("\n", "\n  ")}`,
    );
    const watched = write("watched.yaml", MADE);
    const { code, stdout, stderr } = await render(file, "-w", watched);
    expect(code, stderr).toBe(0);
    expect(documents(stdout)).toMatchObject([{ kind: "Operation", metadata: { name: "changes", labels: { a: "b" } } }]);
    expect(required).toEqual(documents(MADE));
    const two = write("two.yaml", `${MADE}\n---\n${MADE}\n`);
    await expect(render(file, "-w", two)).resolves.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("must have one object"),
    });
  });

  test.each([
    ["{apiVersion: v1, kind: ConfigMap}", "is not an Operation, CronOperation or WatchOperation"],
    ["{apiVersion: ops.crossplane.io/v1alpha1, kind: Operation, spec: {pipeline: [{step: a}]}}", "functionRef"],
  ])("refuses %s, and says why", async (text, why) => {
    const { code, stderr } = await render(write("wrong.yaml", text));
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });
});
