import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { documentOf, parseComposition, stepsOf } from "@xfn/composition";
import type { FunctionRequest, FunctionResponse } from "@xfn/function-grpc";
import { type EmitRequestRequest, type EmitResponseRequest, inspectorServer } from "@xfn/function-grpc/inspector";
import type { LiveObject } from "@xfn/kubernetes";
import type { Callers } from "@xfn/pipeline/recording";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { DroppedMessage } from "../objects/context.ts";
import { pipelineInspector } from "./pipeline-inspector.ts";

const NOTHING = (): void => undefined;
const REDACTED = "**REDACTED**";
const REDACTED_BYTES = Buffer.from(REDACTED).toString("base64");
const XR: LiveObject = {
  apiVersion: "example.org/v1",
  kind: "XDatabase",
  metadata: { name: "orders", namespace: "team", uid: "orders-uid", resourceVersion: "1" },
};
const REQUEST: FunctionRequest = {
  observed: { composite: { resource: XR }, resources: new Map() },
  desired: { resources: new Map() },
};
const RESPONSE: FunctionResponse = {
  desired: { resources: new Map() },
  results: [],
  conditions: [],
  requirements: { extraResources: new Map(), resources: new Map(), schemas: new Map() },
};

let socket: string;
let deadlineMs: number;
let dropped: DroppedMessage[];
let warnings: object[];
let received: (EmitRequestRequest | EmitResponseRequest)[];
beforeEach(() => {
  socket = join(temporaryFolder(), "s");
  // Long enough for a busy machine.
  deadlineMs = 30_000;
  dropped = [];
  warnings = [];
  received = [];
});

const composition = parseComposition(
  documentOf({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "databases" },
    spec: {
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "XDatabase" },
      mode: "Pipeline",
      pipeline: [
        { step: "first", functionRef: { name: "function-first" } },
        { step: "second", functionRef: { name: "function-second" } },
      ],
    },
  }),
);

async function serve(): Promise<void> {
  const handlers = {
    onRequest: (one: EmitRequestRequest) => void received.push(one),
    onResponse: (one: EmitResponseRequest) => void received.push(one),
  };
  const server = inspectorServer(handlers, { maxMessageBytes: 8 * 1024 * 1024 });
  await server.listen({ path: socket });
  onTestFinished(() => server.close(0));
}

/** Listens with a server other than an inspector. */
async function listen(answer: (connection: Socket) => void): Promise<void> {
  const open = new Set<Socket>();
  const server: Server = createServer((connection) => {
    open.add(connection.on("error", NOTHING));
    answer(connection);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    for (const connection of open) connection.destroy();
    server.close();
  });
}

/** Runs the second step of an XR. Resolves when the function has returned. */
async function run(
  {
    request = REQUEST,
    answer = async () => RESPONSE,
    secrets = [],
    by = "databases",
  }: { request?: FunctionRequest; answer?: () => Promise<FunctionResponse>; secrets?: string[]; by?: string } = {},
  times = 1,
): Promise<FunctionResponse[]> {
  const log = { debug: NOTHING, info: NOTHING, warn: (fields: object) => void warnings.push(fields), error: NOTHING };
  const onDrop = (one: DroppedMessage): void => void dropped.push(one);
  const inspector = pipelineInspector({ socket, log, now: () => 1_500, onDrop, deadlineMs });
  onTestFinished(() => inspector.close());
  const callers: Callers = {
    runner: { run: async (_, input) => await Promise.resolve(input) },
    functions: {
      connect: async () => ({
        run: async () => ({ response: await answer(), requestBytes: 1, responseBytes: 1, rounded: [] }),
      }),
    },
  };
  const values = (): Uint8Array[] => secrets.map((text) => Buffer.from(text));
  const { functions } = inspector.inspect(
    { object: XR, composition: by === "" ? undefined : by, steps: stepsOf(composition), secrets: values },
    callers,
  );
  const caller = await functions?.connect({ name: "second" } as never);
  const responses: FunctionResponse[] = [];
  for (let done = 0; done < times; done++) {
    const { response } = (await caller?.run(request, { timeoutMs: 1_000 })) ?? {};
    if (response !== undefined) responses.push(response);
  }
  return responses;
}

const json = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());

test("an inspector gets the request and the response of a call, with the step, the run and the XR", async () => {
  await serve();
  await run();
  await vi.waitFor(() => expect(received).toHaveLength(2), 30_000);
  const [request, response] = received as [EmitRequestRequest, EmitResponseRequest];
  expect(request.meta).toMatchObject({
    timestamp: { seconds: 1n, nanos: 500_000_000 },
    stepIndex: 1,
    stepName: "second",
    iteration: 0,
    functionName: "function-second",
    compositionMeta: {
      compositionName: "databases",
      compositeResourceUid: "orders-uid",
      compositeResourceName: "orders",
      compositeResourceNamespace: "team",
      compositeResourceApiVersion: "example.org/v1",
      compositeResourceKind: "XDatabase",
    },
    operationMeta: undefined,
  });
  expect(response.meta).toEqual(request.meta);
  expect(json(request.request)).toEqual({ observed: { composite: { resource: XR } }, desired: {} });
  expect(json(response.response)).toEqual({ desired: {} });
  expect(response.error).toBe("");
  expect(dropped).toEqual([]);
});

test("a run of an Operation has its name, and the output of a step", async () => {
  await serve();
  await run({ by: "", answer: async () => ({ ...RESPONSE, output: { checked: true } }) });
  await vi.waitFor(() => expect(received).toHaveLength(2), 30_000);
  const [request, response] = received as [EmitRequestRequest, EmitResponseRequest];
  expect(request.meta).toMatchObject({
    compositionMeta: undefined,
    operationMeta: { operationName: "orders", operationUid: "orders-uid" },
  });
  expect(json(response.response)).toEqual({ desired: {}, output: { checked: true } });
});

test("secrets are redacted at their positions, where a function copied them, and in errors; their keys stay", async () => {
  await serve();
  const password = "correct-horse-battery";
  const bytes = Buffer.from(password);
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    data: { a: bytes.toString("base64") },
    stringData: { b: password },
  };
  const state = { resource: secret, connectionDetails: new Map([["c", bytes]]), ready: true };
  const copy = {
    resource: {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "c", annotations: { url: `db://${password}@host` } },
    },
  };
  await run({
    request: {
      ...REQUEST,
      observed: {
        composite: { resource: XR, connectionDetails: new Map([["d", bytes]]) },
        resources: new Map([["one", state]]),
      },
      credentials: new Map([["e", new Map([["f", bytes]])]]),
      requiredResources: new Map([["g", [state]]]),
    },
    answer: async () => ({ ...RESPONSE, desired: { resources: new Map([["two", copy]]) } }),
  });
  await vi.waitFor(() => expect(received).toHaveLength(2), 30_000);
  await expect(
    run({ secrets: ["only-in-memory"], answer: () => Promise.reject(new Error("only-in-memory refused")) }),
  ).rejects.toThrow();
  await vi.waitFor(() => expect(received).toHaveLength(4), 30_000);
  const [, failure] = received.splice(2) as [EmitRequestRequest, EmitResponseRequest];
  const [request, response] = received as [EmitRequestRequest, EmitResponseRequest];
  const hidden = {
    resource: { ...secret, data: { a: REDACTED }, stringData: { b: REDACTED } },
    connectionDetails: { c: REDACTED_BYTES },
    ready: "READY_TRUE",
  };
  expect(json(request.request)).toEqual({
    observed: { composite: { resource: XR, connectionDetails: { d: REDACTED_BYTES } }, resources: { one: hidden } },
    desired: {},
    credentials: { e: { credentialData: { data: { f: REDACTED_BYTES } } } },
    requiredResources: { g: { items: [hidden] } },
  });
  expect(json(response.response)).toMatchObject({
    desired: { resources: { two: { resource: { metadata: { annotations: { url: REDACTED } } } } } },
  });
  expect(failure).toMatchObject({ response: new Uint8Array(), error: "(hidden) refused" });
});

test("a response has the names of protobuf's JSON form", async () => {
  await serve();
  await run({
    answer: async () => ({
      ...RESPONSE,
      results: [{ severity: "Warning", message: "m", target: "CompositeAndClaim" }],
      conditions: [{ type: "T", status: "True", reason: "R", target: "Composite" }],
      requirements: {
        extraResources: new Map(),
        resources: new Map([["a", { apiVersion: "v1", kind: "K", match: { labels: new Map([["x", "y"]]) } }]]),
        schemas: new Map([["b", { apiVersion: "v1", kind: "K" }]]),
      },
      ttlMs: 1_500,
    }),
  });
  await vi.waitFor(() => expect(received).toHaveLength(2), 30_000);
  expect(json((received[1] as EmitResponseRequest).response)).toEqual({
    meta: { ttl: "1.5s" },
    desired: {},
    results: [{ severity: "SEVERITY_WARNING", message: "m", target: "TARGET_COMPOSITE_AND_CLAIM" }],
    conditions: [{ type: "T", status: "STATUS_CONDITION_TRUE", reason: "R", target: "TARGET_COMPOSITE" }],
    requirements: {
      resources: { a: { apiVersion: "v1", kind: "K", matchLabels: { labels: { x: "y" } } } },
      schemas: { b: { apiVersion: "v1", kind: "K" } },
    },
  });
});

test("messages beyond the bound are dropped, and the next ones are sent", async () => {
  await serve();
  const text = "x".repeat(5 * 1024 * 1024);
  await run({ request: { ...REQUEST, input: { text } } });
  await run({ answer: async () => ({ ...RESPONSE, context: { text } }) });
  await vi.waitFor(() => expect(dropped).toHaveLength(3), 30_000);
  await vi.waitFor(() => expect(received).toHaveLength(1), 30_000);
  expect(dropped.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    "request TooLarge",
    "response TooLarge",
    "response TooLarge",
  ]);
});

test.each<[string, string, () => Promise<void>]>([
  ["is absent", "Unreachable", async () => {}],
  ["never answers", "DeadlineExceeded", () => listen(NOTHING)],
  ["ends each connection", "ConnectionLost", () => listen((connection) => void connection.end())],
  ["does not speak gRPC", "NotGrpc", () => listen((connection) => void connection.end("HTTP/1.1 200 OK\r\n\r\n"))],
])("a run completes while the inspector %s, and each message is counted", async (_, reason, start) => {
  if (reason === "DeadlineExceeded") deadlineMs = 1;
  await start();
  expect(await run()).toEqual([RESPONSE]);
  await vi.waitFor(() => expect(dropped).toHaveLength(2), 30_000);
  expect(dropped[0]).toEqual({ functionName: "function-second", type: "request", reason });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatchObject({ socket, reason, dropped: 1 });
});

test("an inspector that never answers holds at most 100 messages, and the others are dropped at once", async () => {
  await listen(NOTHING);
  const calls = 80;
  expect(await run({}, calls)).toHaveLength(calls);
  const overloaded = dropped.filter(({ reason }) => reason === "Overloaded");
  expect(overloaded.length).toBeGreaterThanOrEqual(2 * calls - 102);
});
