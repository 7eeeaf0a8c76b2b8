import type { ResourceSelector } from "@xfn/function-grpc";
import { expect, test } from "vitest";
import { xr } from "../../testing/fixtures.ts";
import { type Handler, pipelineOf, run } from "../../testing/packages.ts";
import { inProcessRunner } from "../in-process.ts";
import { runOf } from "../testing/test-packages.ts";
import { runPipeline } from "./run-pipeline.ts";

test("credentials are read before the first step runs; a missing Secret is an error that names it", async () => {
  const fields = {
    credentials: [{ name: "cloud", source: "Secret", secretRef: { namespace: "ns", name: "keys" } }],
  };
  const seen: unknown[] = [];
  const handler: Handler = ({ credentials }) => (seen.push(credentials), {});
  const data = new Map([["key", Buffer.from("value")]]);
  await run([{ step: "a", handler, fields }], { credentials: async () => await Promise.resolve(data) });
  expect(seen).toEqual([new Map([["cloud", data]])]);
  const failing = run([
    { step: "a", handler: () => expect.unreachable() },
    { step: "b", handler, fields },
  ]);
  await expect(failing).rejects.toMatchObject({
    code: "RunFailed",
    step: "b",
    message: expect.stringContaining("ns/keys"),
  });
});

test("all steps connect before the first runs", async () => {
  const order: string[] = [];
  const steps = ["a", "b"].map((step) => ({ step, handler: () => ({}) }));
  await run(steps, {
    functions: {
      connect: async ({ name }) => {
        order.push(`connect ${name}`);
        return await Promise.resolve({
          run: async (request) => {
            order.push(`run ${name}`);
            return await Promise.resolve(runOf(request, {}));
          },
        });
      },
    },
  });
  expect(order).toEqual(["connect a", "connect b", "run a", "run b"]);
});

test("an aborted run ends while a package still starts", async () => {
  const end = new AbortController();
  const connect = async (): Promise<never> => {
    setImmediate(() => end.abort());
    return await Promise.withResolvers<never>().promise;
  };
  const failing = run([{ step: "a", handler: () => expect.unreachable() }], {
    signal: end.signal,
    functions: { connect },
  });
  await expect(failing).rejects.toMatchObject({ code: "Aborted", step: "a", retryable: true });
});

test("without a connection to packages, the error says so", async () => {
  const composition = pipelineOf([{ step: "a", handler: () => ({}) }]);
  const failing = runPipeline({ composite: xr(), composition, runner: inProcessRunner({}) });
  await expect(failing).rejects.toMatchObject({ code: "Unsupported", step: "a" });
});

test("requirements of a step are read before the first call of its package", async () => {
  const kind = { apiVersion: "v1", kind: "ConfigMap" };
  const fields = {
    requirements: {
      requiredResources: [
        { requirementName: "all", ...kind, matchLabels: { a: "b" } },
        { requirementName: "one", ...kind, namespace: "ns", name: "settings" },
      ],
      requiredSchemas: [{ requirementName: "schema", ...kind }],
    },
  };
  const selectors: ResourceSelector[] = [];
  const seen: unknown[] = [];
  const handler: Handler = ({ requiredResources, requiredSchemas }) => {
    seen.push([...(requiredResources?.keys() ?? [])], requiredSchemas);
    return {};
  };
  await run([{ step: "a", handler, fields }], {
    required: {
      resources: async (selector) => {
        selectors.push(selector);
        return await Promise.resolve([]);
      },
      schema: async (selector) => await Promise.resolve({ title: selector.kind }),
    },
  });
  expect(seen.slice(0, 2)).toEqual([["all", "one"], new Map([["schema", { title: "ConfigMap" }]])]);
  expect(selectors.slice(0, 2)).toEqual([
    { ...kind, match: { labels: new Map([["a", "b"]]) } },
    { ...kind, namespace: "ns", match: { name: "settings" } },
  ]);
});

test.each([
  ["a lost connection", "ConnectionLost", true],
  ["a deadline", "DeadlineExceeded", true],
  ["a server of something else", "NotGrpc", false],
])("the error of %s has what the server wrote, and says whether a retry can help", async (_, code, retryable) => {
  const connect = async (): Promise<never> =>
    await Promise.reject(Object.assign(new Error("no answer"), { code, stderr: "out of disk" }));
  await expect(run([{ step: "a", handler: () => ({}) }], { functions: { connect } })).rejects.toMatchObject({
    code: "RunFailed",
    message: 'step "a": no answer (function function-a)',
    retryable,
    stderr: "out of disk",
  });
});
