import { createServer, type Http2Server, type Http2Session, type ServerHttp2Stream } from "node:http2";
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Server as TcpServer,
} from "node:net";
import { type handleUnaryCall, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import type { FunctionRequest } from "../message/function-message.ts";
import { encodeStruct } from "../struct/encode-struct.ts";
import { RunFunctionRequest } from "../wire/request.ts";
import { RunFunctionResponse } from "../wire/response.ts";
import { FunctionConnection } from "./connection.ts";
import { FunctionClient } from "./function-client.ts";

const V1 = "apiextensions.fn.proto.v1.FunctionRunnerService";
const V1BETA1 = "apiextensions.fn.proto.v1beta1.FunctionRunnerService";
const REQUEST: FunctionRequest = {
  observed: { composite: { resource: { kind: "XDatabase", spec: { size: 3 } } }, resources: new Map() },
  desired: { resources: new Map([["db", { resource: { kind: "Database" } }]]) },
  input: { apiVersion: "v1", kind: "Input" },
};
const OPTIONS = { timeoutMs: 60_000 };

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

type Handler = (request: RunFunctionRequest, respond: (response: Partial<RunFunctionResponse>) => void) => void;

// A function as the official SDKs serve it: gRPC's own server.
async function serve(handler: Handler, { service = V1, maxBytes = -1 } = {}): Promise<FunctionConnection> {
  const server = new Server({ "grpc.max_receive_message_length": maxBytes, "grpc.max_send_message_length": -1 });
  const method = {
    path: `/${service}/RunFunction`,
    requestStream: false as const,
    responseStream: false as const,
    requestDeserialize: (bytes: Buffer) => RunFunctionRequest.decode(bytes),
    responseSerialize: (response: RunFunctionResponse) => Buffer.from(RunFunctionResponse.encode(response)),
    requestSerialize: (request: RunFunctionRequest) => Buffer.from(RunFunctionRequest.encode(request)),
    responseDeserialize: (bytes: Buffer) => RunFunctionResponse.decode(bytes),
  };
  const RunFunction: handleUnaryCall<RunFunctionRequest, RunFunctionResponse> = (call, callback) => {
    try {
      handler(call.request, (response) => callback(null, { results: [], conditions: [], ...response }));
    } catch (error) {
      callback(error as Error);
    }
  };
  server.addService({ RunFunction: method }, { RunFunction });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  closers.push(() => server.forceShutdown());
  return connected(port);
}

// Over a socket that is connected already, as the runner passes it on.
async function connected(port: number): Promise<FunctionConnection> {
  const socket = connectTcp(port, "127.0.0.1");
  await new Promise((resolve) => socket.once("connect", resolve));
  const connection = new FunctionConnection(socket);
  closers.push(() => connection.close());
  return connection;
}

async function listening(server: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

// A server that sends what no gRPC library sends.
async function faulty(
  onStream: (stream: ServerHttp2Stream, session: Http2Session) => void,
): Promise<FunctionConnection> {
  const server: Http2Server = createServer();
  server.on("session", (session) => {
    session.on("error", () => undefined);
    closers.push(() => session.destroy());
  });
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.resume();
    if (stream.session !== undefined) onStream(stream, stream.session);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  return connected((server.address() as AddressInfo).port);
}

const struct = (object: Parameters<typeof encodeStruct>[0]): Uint8Array => encodeStruct(object).bytes;
const run = (connection: FunctionConnection, request = REQUEST, options: object = {}) =>
  new FunctionClient(connection).run(request, { ...OPTIONS, ...options });

describe("a function", () => {
  test("receives the state, its input, a tag and what the caller understands; its response is read whole", async () => {
    let received: RunFunctionRequest | undefined;
    const connection = await serve((request, respond) => {
      received = request;
      respond({
        meta: { tag: request.meta?.tag ?? "", ttl: { seconds: 60n, nanos: 500_000_000 } },
        desired: {
          composite: { resource: struct({ status: { ok: true } }), connectionDetails: new Map(), ready: 1 },
          resources: new Map([
            ["db", { resource: struct({ kind: "Database" }), connectionDetails: new Map(), ready: 2 }],
          ]),
        },
        results: [
          { severity: 2, message: "careful", reason: "Careful", target: 2 },
          { severity: 9 as 1, message: "?" },
        ],
        conditions: [{ type: "DatabaseReady", status: 2, reason: "Up", message: "it is up", target: 1 }],
        context: struct({ "example.org/key": [1, null] }),
        requirements: {
          extraResources: new Map([["old", { apiVersion: "v1", kind: "ConfigMap", matchName: "one" }]]),
          resources: new Map([
            [
              "new",
              { apiVersion: "v1", kind: "Secret", matchLabels: { labels: new Map([["a", "b"]]) }, namespace: "ns" },
            ],
          ]),
          schemas: new Map([["s", { apiVersion: "v1", kind: "Pod" }]]),
        },
      });
    });
    const { response, rounded } = await run(connection);
    expect(rounded).toEqual([]);
    expect(received?.meta?.tag).toMatch(/^[0-9a-f]{64}$/);
    expect(received?.meta?.capabilities).toEqual([1, 2, 3, 4, 5]);
    expect(response.ttlMs).toBe(60_500);
    expect(response.desired.composite).toMatchObject({ ready: true, resource: { status: { ok: true } } });
    expect(response.desired.resources.get("db")).toMatchObject({ ready: false, resource: { kind: "Database" } });
    expect(response.results).toEqual([
      { severity: "Warning", message: "careful", reason: "Careful", target: "CompositeAndClaim" },
      { severity: "Warning", message: "?", target: "Composite" },
    ]);
    expect(response.conditions).toEqual([
      { type: "DatabaseReady", status: "True", reason: "Up", message: "it is up", target: "Composite" },
    ]);
    expect(response.context).toMatchObject({ "example.org/key": [1, null] });
    expect(response.requirements.extraResources).toEqual(
      new Map([["old", { apiVersion: "v1", kind: "ConfigMap", match: { name: "one" } }]]),
    );
    expect(response.requirements.resources).toEqual(
      new Map([
        ["new", { apiVersion: "v1", kind: "Secret", match: { labels: new Map([["a", "b"]]) }, namespace: "ns" }],
      ]),
    );
  });

  test("receives equal tags for equal requests, and others for others", async () => {
    const tags: (string | undefined)[] = [];
    const connection = await serve((request, respond) => {
      tags.push(request.meta?.tag);
      respond({});
    });
    for (const size of [1, 1, 2]) await run(connection, { ...REQUEST, input: { size } });
    expect(tags[0]).toBe(tags[1]);
    expect(tags[2]).not.toBe(tags[0]);
  });

  test("receives credentials, required resources in both forms, and schemas", async () => {
    let received: RunFunctionRequest | undefined;
    const connection = await serve((request, respond) => {
      received = request;
      respond({});
    });
    await run(connection, {
      ...REQUEST,
      credentials: new Map([["aws", new Map([["key", Buffer.from("secret")]])]]),
      extraResources: new Map([["old", [{ resource: { kind: "ConfigMap" } }]]]),
      requiredResources: new Map([
        ["one", [{ resource: { kind: "ConfigMap" } }]],
        ["none", []],
      ]),
      requiredSchemas: new Map([
        ["pod", { type: "object" }],
        ["unknown", undefined],
      ]),
    });
    expect(received?.credentials.get("aws")?.credentialData?.data.get("key")).toEqual(Buffer.from("secret"));
    expect(received?.requiredResources.get("one")?.items).toHaveLength(1);
    expect(received?.requiredResources.get("none")?.items).toEqual([]);
    expect([...(received?.extraResources.keys() ?? [])]).toEqual(["old"]);
    expect(received?.extraResources.get("old")?.items).toHaveLength(1);
    expect(received?.requiredSchemas.get("unknown")?.openapiV3).toBe(undefined);
    expect(received?.requiredSchemas.get("pod")?.openapiV3?.length).toBeGreaterThan(0);
  });

  test("of an older version is called by v1beta1, from the second call on at once", async () => {
    const connection = await serve((_, respond) => respond({}), { service: V1BETA1 });
    const paths: string[] = [];
    const client = new FunctionClient({
      call: (path, message, options) => {
        paths.push(path);
        return connection.call(path, message, options);
      },
    });
    await client.run(REQUEST, OPTIONS);
    await client.run(REQUEST, OPTIONS);
    expect(paths.map((path) => path.split(".")[3])).toEqual(["v1", "v1beta1", "v1beta1"]);
  });

  test("that serves neither version is another service, and is reported with its status", async () => {
    const connection = await serve((_, respond) => respond({}), { service: "example.v1.Other" });
    await expect(run(connection)).rejects.toMatchObject({ code: "Status", status: status.UNIMPLEMENTED });
  });

  test("may take and return 20 MiB", async () => {
    const text = "x".repeat(20 * 1024 * 1024);
    const connection = await serve((request, respond) => respond({ ...(request.input && { context: request.input }) }));
    const { response } = await run(connection, { ...REQUEST, input: { text } });
    expect(response.context?.["text"]).toHaveLength(text.length);
  });

  test("that refuses a large request is named with the flag that allows it", async () => {
    const connection = await serve((_, respond) => respond({}), { maxBytes: 1024 * 1024 });
    const failure = run(connection, { ...REQUEST, input: { text: "x".repeat(2 * 1024 * 1024) } });
    await expect(failure).rejects.toMatchObject({
      code: "TooLarge",
      message: expect.stringContaining("--max-recv-message-size"),
    });
  });

  test("serves many calls at a time over one connection", async () => {
    const connection = await serve((request, respond) =>
      setTimeout(() => respond({ ...(request.input && { context: request.input }) }), 5),
    );
    const calls = Array.from({ length: 200 }, (_, id) => run(connection, { ...REQUEST, input: { id } }));
    const ids = (await Promise.all(calls)).map(({ response }) => response.context?.["id"]);
    expect(ids).toEqual(Array.from({ length: 200 }, (_, id) => id));
  });

  test("that fails is reported with its status and message, and is not retried", async () => {
    const connection = await serve(() => {
      throw Object.assign(new Error("kaputt: ü"), { code: status.INTERNAL });
    });
    await expect(run(connection)).rejects.toMatchObject({
      code: "Status",
      status: status.INTERNAL,
      retryable: false,
      message: expect.stringContaining("INTERNAL: kaputt: ü"),
    });
  });
});

describe("a call ends", () => {
  test("at its deadline", async () => {
    const connection = await serve(() => undefined);
    await expect(run(connection, REQUEST, { timeoutMs: 50 })).rejects.toMatchObject({ code: "DeadlineExceeded" });
  });

  test("when its caller cancels it, and the connection serves the next one", async () => {
    const connection = await serve((request, respond) => {
      if (request.input !== undefined) respond({});
    });
    const abort = new AbortController();
    const failure = run(connection, { ...REQUEST, input: undefined }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 20);
    await expect(failure).rejects.toMatchObject({ code: "Cancelled" });
    await expect(run(connection)).resolves.toBeDefined();
  });

  test("when the connection is lost, and later calls are not sent", async () => {
    const connection = await faulty((_, session) => session.destroy());
    await expect(run(connection)).rejects.toMatchObject({ code: "ConnectionLost", retryable: false });
    await expect(run(connection)).rejects.toMatchObject({ code: "ConnectionLost", retryable: true });
  });

  test("when its connection is closed at once, without an error that nothing catches", async () => {
    const socket = connectTcp(await listening(createTcpServer()), "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    const connection = new FunctionConnection(socket);
    connection.close();
    await new Promise((resolve) => socket.once("close", resolve));
    await expect(run(connection)).rejects.toMatchObject({ code: "ConnectionLost", retryable: true });
  });

  test("when nothing listens", async () => {
    const connection = new FunctionConnection("http://127.0.0.1:1");
    await expect(run(connection)).rejects.toMatchObject({ code: "ConnectionLost" });
  });

  test.each(["http://127.0.0.1:0", "http://127.0.0.1:65536", "http://127.0.0.1", "https://127.0.0.1:1", "127.0.0.1:1"])(
    "at once, for the address %s",
    (address) => {
      expect(() => new FunctionConnection(address)).toThrow(/expected http:\/\/HOST:PORT .* from 1 to 65535/);
    },
  );

  test("by port 80, which URLs leave out", async () => {
    const connection = new FunctionConnection("http://127.0.0.1:80");
    const error: unknown = await run(connection).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ConnectionLost", cause: { port: 80 } });
  });

  test.each([
    [
      "answers with a page",
      (s: ServerHttp2Stream) => s.respond({ ":status": 200, "content-type": "text/html" }),
      "NotGrpc",
    ],
    ["answers 404", (s: ServerHttp2Stream) => s.respond({ ":status": 404 }, { endStream: true }), "NotGrpc"],
    ["sends no status", (s: ServerHttp2Stream) => grpc(s).end(), "ConnectionLost"],
    ["sends half a message", (s: ServerHttp2Stream) => grpc(s, "0").end(Buffer.from([0, 0, 0, 0, 9, 1])), "Malformed"],
    ["sends no message", (s: ServerHttp2Stream) => grpc(s, "0").end(), "Malformed"],
    ["compresses", (s: ServerHttp2Stream) => grpc(s, "0").end(Buffer.from([1, 0, 0, 0, 0])), "Malformed"],
    ["announces 2 GiB", (s: ServerHttp2Stream) => grpc(s).write(Buffer.from([0, 0x80, 0, 0, 0])), "TooLarge"],
    [
      "sends garbage",
      (s: ServerHttp2Stream) => grpc(s, "0").end(Buffer.from([0, 0, 0, 0, 2, 0xff, 0xff])),
      "Malformed",
    ],
    ["refuses the stream", (s: ServerHttp2Stream) => s.close(7), "ConnectionLost"],
  ])("clearly when the server %s", async (_, onStream, code) => {
    await expect(run(await faulty(onStream))).rejects.toMatchObject({ name: "FunctionCallError", code });
  });

  test.each([
    ["HTTP/1", "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n"],
    ["something else", "garbage garbage garbage\n"],
  ])("clearly when the server speaks %s", async (_, bytes) => {
    const server = createTcpServer((socket) => socket.on("error", () => undefined).write(bytes));
    const failure = run(await connected(await listening(server)));
    await expect(failure).rejects.toMatchObject({ code: "NotGrpc", message: expect.stringContaining("--insecure") });
  });

  test("and may be retried when the server refused its stream", async () => {
    await expect(run(await faulty((stream) => stream.close(7)))).rejects.toMatchObject({ retryable: true });
  });
});

function grpc(stream: ServerHttp2Stream, grpcStatus?: string): ServerHttp2Stream {
  stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: grpcStatus !== undefined });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": grpcStatus ?? "" }));
  return stream;
}
