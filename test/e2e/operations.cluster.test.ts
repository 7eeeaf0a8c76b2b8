import type { JsonObject } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type FunctionServer,
  serveTestFunction,
  type TestResponse,
} from "../../packages/function-grpc/testing/function-server.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";

// Operations as users see them. The function returns the response in its input.

const dummy = (step: string, response: TestResponse, more: JsonObject = {}): JsonObject => ({
  step,
  functionRef: { name: "function-dummy" },
  input: { apiVersion: "dummy.fn.crossplane.io/v1beta1", kind: "Response", response: response as JsonObject },
  ...more,
});

const configMap = (name: string, data: JsonObject): TestResponse["resources"] => ({
  [name]: { resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name }, data } },
});

const FATAL = { results: [{ severity: 1 as const, message: "no luck" }] };

describe("operations", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;
  let fn: FunctionServer;

  beforeAll(async () => {
    server = await startApiServer();
    fn = await serveTestFunction(({ input }) => input["response"] as TestResponse);
    controller = await startController(server.admin.kubeconfig, {
      args: [
        "--enable-operations",
        "--enable-composition-functions",
        `--function=function-dummy=http://${fn.address}`,
        "--credentials-secret-namespaces=default",
        "--namespace=default",
      ],
    });
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    fn?.stop();
    await server?.stop();
  });

  const create = async (kind: string, name: string, spec: JsonObject): Promise<string> => {
    const object = { apiVersion: "ops.crossplane.io/v1alpha1", kind, metadata: { name }, spec };
    return await server.kubectl(["apply", "-f", "-"], { input: JSON.stringify(object) });
  };
  const get = async (...args: readonly string[]): Promise<JsonObject> =>
    JSON.parse(await server.kubectl(["get", ...args, "-o", "json"])) as JsonObject;
  const wait = (object: string, condition: string): Promise<string> =>
    server.kubectl(["wait", object, `--for=condition=${condition}`, "--timeout=60s"]);
  const status = async (object: string): Promise<JsonObject> => (await get(object))["status"] as JsonObject;

  test("a pipeline runs once, applies what its steps desire, and has their outputs in its status", async () => {
    await server.kubectl(["create", "secret", "generic", "super-secret"]);
    const credentials = [
      { name: "important", source: "Secret", secretRef: { namespace: "default", name: "super-secret" } },
    ];
    const output = (stepName: string, total: number): TestResponse => ({ output: { stepName, total } });
    await create("Operation", "pipeline", {
      mode: "Pipeline",
      pipeline: [
        dummy("a", { resources: configMap("made-a", { step: "1" }) ?? {}, ...output("a", 1) }, { credentials }),
        dummy("b", { resources: configMap("made-b", { step: "2" }) ?? {}, ...output("b", 2) }),
      ],
    });
    await wait("operation/pipeline", "Succeeded");
    expect(await status("operation/pipeline")).toMatchObject({
      appliedResourceRefs: [{ name: "made-a" }, { name: "made-b" }],
      pipeline: [
        { step: "a", output: { stepName: "a", total: 1 } },
        { step: "b", output: { stepName: "b", total: 2 } },
      ],
    });
    for (const [name, step] of [
      ["made-a", "1"],
      ["made-b", "2"],
    ] as const)
      expect(await get(`configmap/${name}`)).toMatchObject({ data: { step } });
    const calls = fn.calls;
    await server.kubectl(["annotate", "operation/pipeline", "touched=1"]);
    await server.kubectl(["delete", "configmap/made-a"]);
    await create("Operation", "later", { pipeline: [dummy("a", {})] });
    await wait("operation/later", "Succeeded");
    expect(fn.calls).toBe(calls + 1);
  });

  test("a failing Operation is tried again, and has failed at its limit", async () => {
    await create("Operation", "retry", { retryLimit: 3, pipeline: [dummy("always-fail", FATAL)] });
    await wait("operation/retry", "Succeeded=False");
    expect(await status("operation/retry")).toMatchObject({
      failures: 3,
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: "Synced", status: "True", reason: "ReconcileSuccess" }),
        expect.objectContaining({ type: "Succeeded", status: "False", reason: "PipelineError" }),
      ]),
    });
  });

  test.each([
    ["without steps", "Operation", { pipeline: [] }, "spec.pipeline"],
    [
      "that selects by name and labels",
      "Operation",
      {
        pipeline: [
          dummy(
            "a",
            {},
            {
              requirements: {
                requiredResources: [
                  { requirementName: "r", apiVersion: "v1", kind: "ConfigMap", name: "a", matchLabels: { a: "b" } },
                ],
              },
            },
          ),
        ],
      },
      "name and matchLabels exclude each other",
    ],
  ])("one %s is refused at its creation", async (_, kind, spec, why) => {
    await expect(create(kind, "refused", spec as JsonObject)).rejects.toThrow(why);
  });
});
