import { join } from "node:path";
import type { JsonObject } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  type FunctionServer,
  serveTestFunction,
  type TestResponse,
} from "../../packages/function-grpc/testing/function-server.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";

// Operations as users see them, with the roles of deploy/ alone. The function returns the response in its input.

const USER = "controller";
const TARGETS = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: targets, labels: { rbac.crossplane.io/aggregate-to-crossplane: "true" } }
rules:
  - { apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch] }
  - { apiGroups: [example.org], resources: [lates], verbs: [get, list, watch] }
  - { apiGroups: [""], resources: [secrets], verbs: [get] }
`;

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
    server = await startApiServer({ users: [USER] });
    for (const file of ["base/namespace", "base/rbac", "operations/rbac"])
      await server.kubectl(["apply", "-f", join(CHECKOUT, "deploy", `${file}.yaml`)]);
    await server.kubectl(["apply", "-f", "-"], { input: TARGETS });
    await server.kubectl(["create", "clusterrolebinding", "test", "--clusterrole=xfn-controller", `--user=${USER}`]);
    await server.kubectl([
      "create",
      "rolebinding",
      "test",
      "--role=xfn-controller",
      `--user=${USER}`,
      "-n",
      "crossplane-system",
    ]);
    // A controller of Kubernetes aggregates the roles with the label.
    const may = async (): Promise<string> =>
      await server.kubectl(["auth", "can-i", "patch", "configmaps", "-n", "default", "--as", USER]).catch(() => "no");
    await vi.waitFor(async () => expect((await may()).trim()).toBe("yes"), 30_000);
    fn = await serveTestFunction(({ input }) => input["response"] as TestResponse);
    controller = await startController(server.user(USER).kubeconfig, {
      args: [
        "--enable-operations",
        "--enable-composition-functions",
        `--function=function-dummy=http://${fn.address}`,
        "--credentials-secret-namespaces=default",
        "--namespace=crossplane-system",
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

  test("a CronOperation creates Operations, and collects old ones", async () => {
    await create("CronOperation", "often", {
      schedule: "@every 1s",
      successfulHistoryLimit: 1,
      operationTemplate: { spec: { pipeline: [dummy("a", {})] } },
    });
    await wait("cronoperation/often", "Scheduling");
    const last = async (): Promise<string> => String((await status("cronoperation/often"))["lastScheduleTime"]);
    await expect.poll(last, { timeout: 30_000 }).toMatch(/^2/);
    const first = await last();
    await expect.poll(last, { timeout: 30_000 }).not.toBe(first);
    const selected = async (): Promise<number> =>
      ((await get("operations", "-l", "ops.crossplane.io/cronoperation=often"))["items"] as JsonObject[]).length;
    await expect.poll(async () => String((await status("cronoperation/often"))["lastSuccessfulTime"])).toMatch(/^2/);
    await server.kubectl(["annotate", "cronoperation/often", "crossplane.io/paused=true"]);
    await wait("cronoperation/often", "Scheduling=False");
    expect(await selected()).toBeLessThanOrEqual(3);
  });

  test("a WatchOperation creates an Operation for each version of an object, and for its deletion", async () => {
    const labelled = (name: string, data: string): Promise<string> =>
      server.kubectl(["apply", "-f", "-"], {
        input: JSON.stringify({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name, namespace: "default", labels: { test: "watched" } },
          data: { data },
        }),
      });
    const created = async (): Promise<number> =>
      ((await get("operations", "-l", "ops.crossplane.io/watchoperation=changes"))["items"] as JsonObject[]).length;
    const count = async (): Promise<unknown> => (await status("watchoperation/changes"))["watchingResources"];
    await labelled("watched-a", "1");
    await create("WatchOperation", "changes", {
      watch: { apiVersion: "v1", kind: "ConfigMap", namespace: "default", matchLabels: { test: "watched" } },
      successfulHistoryLimit: 10,
      operationTemplate: { spec: { pipeline: [dummy("a", {})] } },
    });
    await wait("watchoperation/changes", "Watching");
    await expect.poll(created).toBe(1);
    await labelled("watched-a", "2");
    await expect.poll(created).toBe(2);
    await labelled("watched-b", "1");
    await expect.poll(created).toBe(3);
    await expect.poll(count).toBe(2);
    await server.kubectl(["delete", "configmap/watched-a"]);
    await expect.poll(created).toBe(4);
    await expect.poll(count).toBe(1);
    await server.kubectl([
      "wait",
      "operations",
      "-l",
      "ops.crossplane.io/watchoperation=changes",
      "--for=condition=Succeeded",
    ]);
    await expect.poll(async () => (await status("watchoperation/changes"))["runningOperationRefs"]).toEqual([]);
    await server.kubectl(["delete", "watchoperation/changes", "--timeout=60s"]);
  });

  test("a WatchOperation of a kind that does not exist says so, and watches once it exists", async () => {
    const template = { spec: { pipeline: [dummy("a", {})] } };
    await create("WatchOperation", "early", {
      watch: { apiVersion: "example.org/v1", kind: "Late" },
      operationTemplate: template,
    });
    await wait("watchoperation/early", "Watching=False");
    const names = { kind: "Late", plural: "lates" };
    const schema = { openAPIV3Schema: { type: "object" } };
    const crd = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "lates.example.org" },
      spec: {
        group: "example.org",
        scope: "Cluster",
        names,
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
    await server.kubectl(["apply", "-f", "-"], { input: JSON.stringify(crd) });
    await wait("watchoperation/early", "Watching");
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
    [
      "with a wrong schedule",
      "CronOperation",
      { schedule: "tomorrow", operationTemplate: { spec: { pipeline: [dummy("a", {})] } } },
      "must have five fields",
    ],
    [
      "with a wrong policy",
      "CronOperation",
      { schedule: "@daily", concurrencyPolicy: "Maybe", operationTemplate: { spec: { pipeline: [dummy("a", {})] } } },
      "spec.concurrencyPolicy",
    ],
  ])("one %s is refused at its creation", async (_, kind, spec, why) => {
    await expect(create(kind, "refused", spec as JsonObject)).rejects.toThrow(why);
  });
});
