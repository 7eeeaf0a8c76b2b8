import { describe, expect, test } from "vitest";
import type { FunctionRequest, ResourceSelector } from "../message/function-message.ts";
import { encodeStruct } from "../struct/encode-struct.ts";
import { RunFunctionRequest } from "../wire/request.ts";
import { type ResourceSelector as WireSelector } from "../wire/requirements.ts";
import { RunFunctionResponse } from "../wire/response.ts";
import { FunctionClient } from "./function-client.ts";
import { MAX_CALLS, runWithRequirements } from "./run-with-requirements.ts";

const REQUEST: FunctionRequest = { observed: { resources: new Map() }, desired: { resources: new Map() } };
const OPTIONS = { timeoutMs: 60_000 };

function configMap(name: string): WireSelector {
  return { apiVersion: "v1", kind: "ConfigMap", matchName: name };
}

// A function in this process, which records its requests and answers the nth call.
function functionThat(answer: (call: number) => Partial<RunFunctionResponse>): {
  client: FunctionClient;
  requests: RunFunctionRequest[];
} {
  const requests: RunFunctionRequest[] = [];
  const call = async (_: string, message: Uint8Array): Promise<Uint8Array> => {
    requests.push(RunFunctionRequest.decode(message));
    const response = { results: [], conditions: [], ...answer(requests.length) };
    return await Promise.resolve(RunFunctionResponse.encode(response));
  };
  return { client: new FunctionClient({ call }), requests };
}

function requiresExtra(...names: string[]): Partial<RunFunctionResponse> {
  const extraResources = new Map(names.map((name) => [name, configMap(name)]));
  return { requirements: { extraResources, resources: new Map(), schemas: new Map() } };
}

function requires(...names: string[]): Partial<RunFunctionResponse> {
  const resources = new Map(names.map((name) => [name, configMap(name)]));
  return { requirements: { extraResources: new Map(), resources, schemas: new Map() } };
}

const source = {
  asked: [] as ResourceSelector[],
  resources: async (selector: ResourceSelector) => {
    source.asked.push(selector);
    return await Promise.resolve([{ resource: { kind: selector.kind } }]);
  },
  schema: async () => await Promise.resolve({ type: "object" }),
};

describe("a function is run", () => {
  test("once if it requires nothing", async () => {
    const { client, requests } = functionThat(() => ({}));
    await runWithRequirements(client, REQUEST, source, OPTIONS);
    expect(requests).toHaveLength(1);
  });

  test("again with what it requires, and the context that it returned", async () => {
    const context = encodeStruct({ seen: 1 }).bytes;
    const { client, requests } = functionThat(() => ({ ...requires("one"), context }));
    await runWithRequirements(client, REQUEST, source, OPTIONS);
    expect(requests.map(({ requiredResources }) => [...requiredResources.keys()])).toEqual([[], ["one"]]);
    expect(requests[1]?.context).toEqual(Buffer.from(context));
  });

  test("with what it requires in the older form in that form only", async () => {
    const { client, requests } = functionThat(() => requiresExtra("one"));
    const { calls } = await runWithRequirements(client, REQUEST, source, OPTIONS);
    expect(calls).toBe(2);
    expect([...(requests[1]?.extraResources.keys() ?? [])]).toEqual(["one"]);
    expect(requests[1]?.requiredResources.size).toBe(0);
  });

  test("at most six times", async () => {
    const { client, requests } = functionThat((call) => requires(`${call}`));
    await expect(runWithRequirements(client, REQUEST, source, OPTIONS)).rejects.toMatchObject({
      name: "RequirementsError",
      code: "RequirementsUnstable",
    });
    expect(requests).toHaveLength(MAX_CALLS);
  });

  test("not again after a fatal result", async () => {
    const { client, requests } = functionThat(() => ({
      ...requires("one"),
      results: [{ severity: 1, message: "no" }],
    }));
    const { response } = await runWithRequirements(client, REQUEST, source, OPTIONS);
    expect(response.results).toMatchObject([{ severity: "Fatal" }]);
    expect(requests).toHaveLength(1);
  });

  test("with what its step requires, in every call", async () => {
    const { client, requests } = functionThat(() => requires("own"));
    const bootstrap = {
      extraResources: new Map(),
      resources: new Map([["step", { apiVersion: "v1", kind: "Secret", match: { name: "s" } }]]),
      schemas: new Map([["pod", { apiVersion: "v1", kind: "Pod" }]]),
    };
    await runWithRequirements(client, REQUEST, source, OPTIONS, bootstrap);
    expect(requests.map(({ requiredResources }) => [...requiredResources.keys()])).toEqual([["step"], ["own", "step"]]);
    expect(requests[0]?.requiredSchemas.get("pod")?.openapiV3).toBeDefined();
  });
});
