import { rmSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { Client, credentials, status } from "@grpc/grpc-js";
import { outputLimits } from "@xfn/functionio";
import { compose, fatal } from "@xfn/functionio/sdk";
import { operate } from "@xfn/functionio/sdk/operate";
import type { JsonObject, JsonValue } from "@xfn/json";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { MAX_RESPONSE_BYTES } from "../client/call-options.ts";
import { FunctionConnection } from "../client/connection.ts";
import { FunctionClient } from "../client/function-client.ts";
import { decodeResponse } from "../message/decode-response.ts";
import { encodeRequest } from "../message/encode-request.ts";
import type { FunctionRequest, FunctionResponse } from "../message/function-message.ts";
import { METHOD_V1, METHOD_V1BETA1 } from "../message/methods.ts";
import { encodeStruct } from "../struct/encode-struct.ts";
import { RunFunctionRequest } from "../wire/request.ts";
import { RunFunctionResponse } from "../wire/response.ts";
import { type Resources } from "../wire/state.ts";
import { runMethod, type ServedFunction } from "./run-method.ts";
import { UnaryServer } from "./unary-server.ts";

const XR = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "shop" }, spec: { size: 2 } };
const REQUEST: FunctionRequest = {
  observed: { composite: { resource: XR }, resources: new Map() },
  desired: { resources: new Map() },
};
const OPTIONS = { timeoutMs: 60_000 };
const BUCKET = { apiVersion: "s3.example.org/v1", kind: "Bucket" } as const;
const MAX_BYTES = 1024 * 1024;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(fn: ServedFunction): Promise<{ server: UnaryServer; url: string }> {
  const method = runMethod(fn);
  const methods = new Map([
    [METHOD_V1, method],
    [METHOD_V1BETA1, method],
  ]);
  const server = new UnaryServer({ methods, maxMessageBytes: MAX_BYTES });
  const url = `http://${await server.listen({ host: "127.0.0.1", port: 0 })}`;
  closers.push(() => server.close(0));
  return { server, url };
}

function connect(url: string): FunctionConnection {
  const connection = new FunctionConnection(url);
  closers.push(() => connection.close());
  return connection;
}

async function run(fn: ServedFunction, request: Partial<FunctionRequest> = {}): Promise<FunctionResponse> {
  const { url } = await serve(fn);
  const { response } = await new FunctionClient(connect(url)).run({ ...REQUEST, ...request }, OPTIONS);
  return response;
}

describe("a function of the SDK over gRPC", () => {
  test("gets the XR, its input and the resources, and its desired state is returned", async () => {
    const fn = compose<typeof XR, { region: string }>(({ xr, config, observed, desired, results }) => {
      desired.apply("bucket", { ...BUCKET, spec: { region: config.region, size: xr.spec.size } });
      desired.composite.status({ seen: observed.names(), password: observed.connectionDetailsOf("db")["password"] });
      results.warning("careful", { reason: "Careful", target: "CompositeAndClaim" });
    });
    const db = { resource: { kind: "DB" }, connectionDetails: new Map([["password", Buffer.from("s3cret")]]) };
    const response = await run(fn, {
      observed: { composite: { resource: XR }, resources: new Map([["db", db]]) },
      input: { region: "eu" },
    });
    expect(response.desired.resources.get("bucket")?.resource).toEqual({ ...BUCKET, spec: { region: "eu", size: 2 } });
    expect(response.desired.composite?.resource["status"]).toEqual({ seen: ["db"], password: "s3cret" });
    expect(response.results).toEqual([
      { severity: "Warning", message: "careful", reason: "Careful", target: "CompositeAndClaim" },
    ]);
    expect(response.ttlMs).toBe(60_000);
  });

  test("keeps what earlier steps desire, byte for byte, and leaves out what it deletes", async () => {
    const details = new Map([["key", Buffer.from([0xff, 0xfe])]]);
    const desired = {
      composite: { resource: { status: { a: 1 } }, connectionDetails: details, ready: true },
      resources: new Map([
        ["kept", { resource: { nothing: null, empty: {}, list: [] }, ready: false, connectionDetails: details }],
        ["gone", { resource: { kind: "Old" } }],
      ]),
    };
    const response = await run(
      compose(({ desired: state }) => {
        state.delete("gone");
        state.composite.connectionDetail("user", "u");
      }),
      { desired, context: { "example.org/a": [1, null] } },
    );
    expect(response.desired.resources).toEqual(new Map([["kept", desired.resources.get("kept")]]));
    expect(response.desired.composite).toEqual({
      ...desired.composite,
      connectionDetails: new Map([
        ["key", Buffer.from([0xff, 0xfe])],
        ["user", Buffer.from("u")],
      ]),
    });
    expect(response.context).toEqual({ "example.org/a": [1, null] });
  });

  test("says what its readiness checks and connection details come to", async () => {
    const observed = (status: object, secret = "") => ({
      resource: { kind: "DB", status: { ...status } },
      connectionDetails: new Map([["password", Buffer.from(secret)]]),
    });
    const response = await run(
      compose(({ desired }) => {
        const readinessChecks = [{ type: "MatchTrue", fieldPath: "status.up" }] as const;
        const connectionDetails = [{ fromConnectionSecretKey: "password" }];
        desired.apply("up", { ...BUCKET }, { readinessChecks, connectionDetails });
        desired.apply("down", { ...BUCKET }, { readinessChecks });
        desired.apply("new", { ...BUCKET }, { readinessChecks: [{ type: "None" }] });
        desired.apply("condition", { ...BUCKET });
        desired.apply("unknown", { ...BUCKET });
        desired.apply("odd", { ...BUCKET }, { readinessChecks });
      }),
      {
        observed: {
          composite: { resource: XR },
          resources: new Map([
            ["up", observed({ up: true }, "p")],
            ["down", observed({ up: false })],
            ["odd", observed({ up: "yes" })],
            ["condition", observed({ conditions: [{ type: "Ready", status: "True" }] })],
          ]),
        },
      },
    );
    const ready = Object.fromEntries([...response.desired.resources].map(([name, state]) => [name, state.ready]));
    expect(ready).toEqual({ up: true, down: false, new: true, condition: true, unknown: undefined, odd: false });
    expect(response.desired.composite?.connectionDetails).toEqual(new Map([["password", Buffer.from("p")]]));
    expect(response.results).toEqual([
      { severity: "Warning", message: expect.stringContaining('"odd"'), target: "Composite" },
    ]);
  });

  test("reads and changes the context, reads credentials, and sets conditions", async () => {
    const response = await run(
      compose(({ context, credentials, conditions, results }) => {
        results.normal(`${String(context.get("a"))} ${credentials.get("aws")?.["key"]} ${credentials.names().join()}`);
        context.set("b", { deep: [context.keys().length] });
        context.delete("a");
        conditions.set("BucketReady", { status: "True", reason: "Up", message: "up", target: "CompositeAndClaim" });
      }),
      { context: { a: 1, c: 2 }, credentials: new Map([["aws", new Map([["key", Buffer.from("k")]])]]) },
    );
    expect(response.results[0]?.message).toBe("1 k aws");
    expect(response.context).toEqual({ b: { deep: [2] }, c: 2 });
    expect(response.conditions).toEqual([
      { type: "BucketReady", status: "True", reason: "Up", message: "up", target: "CompositeAndClaim" },
    ]);
  });

  test("of an Operation gets no XR, and returns the output for its status", async () => {
    const fn = operate<{ region: string }>(({ config, desired, required, output }) => {
      const [found] = required.resources("it", { ...BUCKET, matchName: "a" }) ?? [];
      desired.apply("bucket", { ...BUCKET, spec: { region: config.region } });
      output({ found: found !== undefined });
    });
    const observed = { resources: new Map() };
    const { desired, output, requirements } = await run(fn, { observed, input: { region: "eu" } });
    expect(desired.resources.get("bucket")?.resource).toEqual({ ...BUCKET, spec: { region: "eu" } });
    expect(desired.composite).toBe(undefined);
    expect(output).toEqual({ found: false });
    expect([...requirements.resources.keys()]).toEqual(["it"]);
  });

  test("requires resources and schemas, and is run again with them", async () => {
    const fn = compose(({ required, desired }) => {
      const zones = required.resources("zones", { apiVersion: "v1", kind: "Zone", matchLabels: { a: "b" } });
      const named = required.resources("one", { apiVersion: "v1", kind: "Zone", matchName: "z", namespace: "n" });
      const schema = required.schema("pod", { apiVersion: "v1", kind: "Pod" });
      const bootstrap = required.resources("step");
      if (zones === undefined || named === undefined || schema === undefined) return;
      desired.apply("all", { ...BUCKET, zones, named, schema, bootstrap: bootstrap ?? [] });
    });
    const first = await run(fn);
    expect(first.desired.resources.size).toBe(0);
    expect(first.requirements).toMatchObject({
      resources: new Map([
        ["zones", { apiVersion: "v1", kind: "Zone", match: { labels: new Map([["a", "b"]]) } }],
        ["one", { apiVersion: "v1", kind: "Zone", match: { name: "z" }, namespace: "n" }],
      ]),
      schemas: new Map([["pod", { apiVersion: "v1", kind: "Pod" }]]),
    });
    const second = await run(fn, {
      requiredResources: new Map([
        ["zones", [{ resource: { kind: "Zone" } }]],
        ["one", []],
        ["step", [{ resource: { kind: "Given" } }]],
      ]),
      requiredSchemas: new Map([["pod", undefined]]),
    });
    expect(second.requirements).toEqual(first.requirements);
    expect(second.desired.resources.get("all")?.resource).toMatchObject({
      zones: [{ kind: "Zone" }],
      named: [],
      schema: null,
      bootstrap: [{ kind: "Given" }],
    });
  });

  test("requires resources in the older form of a caller that does not know the other", async () => {
    const zone = { apiVersion: "v1", kind: "Zone", matchName: "z" } as const;
    const fn = compose(({ required, results }) => results.normal(String(required.resources("zone", zone)?.length)));
    const { url } = await serve(fn);
    const request = { ...RunFunctionRequest.decode(encodeRequest(REQUEST).bytes), meta: undefined };
    const found = {
      items: [{ resource: encodeStruct({ kind: "Zone" }).bytes, connectionDetails: new Map(), ready: 0 }],
    };
    request.extraResources.set("zone", found as Resources);
    const message = RunFunctionRequest.encode(request);
    const response = RunFunctionResponse.decode(await connect(url).call(METHOD_V1, message, OPTIONS));
    expect(response.results[0]?.message).toBe("1");
    expect([...(response.requirements?.extraResources.keys() ?? [])]).toEqual(["zone"]);
    expect(response.requirements?.resources.size).toBe(0);
  });

  test("that ends fatally keeps its conditions, and the desired state of earlier steps", async () => {
    const response = await run(
      compose(({ conditions, desired }) => {
        conditions.set("Checked", { status: "False", reason: "NoRegion" });
        desired.apply("late", BUCKET);
        fatal("no region");
      }),
      { desired: { resources: new Map([["a", { resource: { kind: "A" } }]]) } },
    );
    expect(response.results).toEqual([{ severity: "Fatal", message: "no region", target: "Composite" }]);
    expect(response.conditions).toHaveLength(1);
    expect([...response.desired.resources.keys()]).toEqual(["a"]);
  });

  test("warns of integers that gRPC rounds", async () => {
    const response = await run(compose(({ desired }) => desired.apply("a", { ...BUCKET, id: 9007199254740993n })));
    expect(response.results).toEqual([
      { severity: "Warning", message: expect.stringContaining("desired.resources[a].id"), target: "Composite" },
    ]);
  });

  test("is called by v1beta1 too, and many times at once", async () => {
    const { url } = await serve(compose(({ xr, results }) => results.normal(String(xr.metadata?.name))));
    const connection = connect(url);
    const { bytes } = encodeRequest(REQUEST);
    await expect(connection.call(METHOD_V1BETA1, bytes, OPTIONS)).resolves.toBeInstanceOf(Buffer);
    const client = new FunctionClient(connection);
    const calls = Array.from({ length: 100 }, (_, index) => {
      const resource = { ...XR, metadata: { name: `shop-${index}` } };
      return client.run({ ...REQUEST, observed: { composite: { resource }, resources: new Map() } }, OPTIONS);
    });
    const names = (await Promise.all(calls)).map(({ response }) => response.results[0]?.message);
    expect(names).toEqual(Array.from({ length: 100 }, (_, index) => `shop-${index}`));
  });
});

test("a client of gRPC's own library is served, also beyond its flow-control window", async () => {
  const text = "x".repeat(900_000);
  const { url } = await serve(compose(({ context }) => context.set("text", text)));
  const client = new Client(url.replace("http://", ""), credentials.createInsecure());
  closers.push(() => client.close());
  const { bytes } = encodeRequest({ ...REQUEST, input: { text } });
  const identity = (message: Buffer): Buffer => message;
  const answer = await new Promise<Buffer | undefined>((resolve, reject) => {
    client.makeUnaryRequest(METHOD_V1, identity, identity, Buffer.from(bytes), (error, response) =>
      error === null ? resolve(response) : reject(error),
    );
  });
  const { context } = await decodeResponse(answer ?? Buffer.alloc(0), outputLimits(MAX_RESPONSE_BYTES));
  expect(context).toEqual({ text });
  const refused = new Promise((_, reject) => {
    client.makeUnaryRequest("/a.B/C", identity, identity, Buffer.alloc(0), (error) => reject(error ?? new Error("?")));
  });
  await expect(refused).rejects.toMatchObject({ code: status.UNIMPLEMENTED, details: "there is no method /a.B/C" });
});

test("large requests and responses of calls at once never wait for each other", async () => {
  const directory = temporaryFolder();
  closers.push(() => rmSync(directory, { recursive: true }));
  const echo = new Map([["/a.B/Echo", (message: Uint8Array) => message]]);
  const server = new UnaryServer({ methods: echo, maxMessageBytes: 100 * MAX_BYTES });
  const path = join(directory, "socket");
  await server.listen({ path });
  closers.push(() => server.close(0));
  // The buffer of a unix socket is smaller than one message, so that an end that does not read blocks the other one.
  const connection = new FunctionConnection(connectSocket(path));
  closers.push(() => connection.close());
  const message = Buffer.alloc(8 * MAX_BYTES, 7);
  const caller = async (): Promise<void> => {
    for (let count = 0; count < 4; count++) {
      const answer = await connection.call("/a.B/Echo", message, { timeoutMs: 60_000 });
      expect(answer.length).toBe(message.length);
    }
  };
  await Promise.all([caller(), caller(), caller()]);
}, 60_000);

test("the desired state, context and input of any request come through a function unchanged", async () => {
  const seen: unknown[] = [];
  const { url } = await serve(compose(({ config }) => void seen.push(config)));
  const client = new FunctionClient(connect(url));
  const json = fc.jsonValue({ noUnicodeString: false }) as fc.Arbitrary<JsonValue>;
  const object = fc.dictionary(fc.string(), json) as fc.Arbitrary<JsonObject>;
  const state = fc.record({
    resource: object,
    ready: fc.boolean(),
    connectionDetails: fc
      .array(fc.tuple(fc.string(), fc.uint8Array()), { minLength: 1 })
      .map((entries) => new Map(entries)),
  });
  const resources = fc.array(fc.tuple(fc.string({ minLength: 1 }), state)).map((entries) => new Map(entries));
  const request = fc.record({ desired: fc.record({ composite: state, resources }), context: object, input: object });
  await fc.assert(
    fc.asyncProperty(request, async (given) => {
      const { response } = await client.run({ ...REQUEST, ...given }, OPTIONS);
      expect(plain({ desired: response.desired, context: response.context })).toEqual(
        plain({ desired: given.desired, context: given.context }),
      );
      expect(plain(seen.pop())).toEqual(plain(given.input));
    }),
    { numRuns: 100 },
  );
});

/** A value with maps as sorted lists and bytes as text, to compare. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (value instanceof Map)
    return [...(value as Map<string, unknown>)]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, plain(inner)]);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value === 0 ? 0 : value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, plain(inner)]);
}

describe("a call is refused", () => {
  const nothing = compose(() => {});

  test.each([
    ["of an unknown method", "/other.Service/Method", Buffer.alloc(0), 12],
    ["with a message that is not a request", METHOD_V1, Buffer.from([0xff, 0xff, 0xff]), 3],
    ["with a Struct that is none", METHOD_V1, Buffer.from([0x22, 0x02, 0xff, 0xff]), 3],
    ["with a message over the bound", METHOD_V1, Buffer.alloc(MAX_BYTES + 1), 8],
  ])("%s", async (_, path, message, status) => {
    const { url } = await serve(nothing);
    const connection = connect(url);
    await expect(connection.call(path, message, OPTIONS)).rejects.toMatchObject({ status });
    await expect(new FunctionClient(connection).run(REQUEST, OPTIONS)).resolves.toBeDefined();
  });

  test.each([
    ["compressed", [1, 0, 0, 0, 0], "12"],
    ["shorter than its prefix says", [0, 0, 0, 0, 9, 1], "3"],
    ["followed by another", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "3"],
    ["missing", [], "3"],
    ["announced with 2 GiB", [0, 0x80, 0, 0, 0], "8"],
  ])("with a message that is %s", async (_, bytes, status) => {
    const { url } = await serve(nothing);
    expect(await answer(url, { ":path": METHOD_V1, "content-type": "application/grpc" }, bytes)).toMatchObject({
      "grpc-status": status,
    });
  });

  test("if it is not gRPC", async () => {
    const { url } = await serve(nothing);
    expect(await answer(url, { ":path": METHOD_V1 }, [])).toMatchObject({ ":status": 415 });
    await expect(fetch(url)).rejects.toThrow();
  });

  test("if the function returns what gRPC cannot carry", async () => {
    const broken: ServedFunction = (io) => ({
      ...io,
      desired: { resources: [{ name: "a", resource: { n: Number.NaN } }] },
    });
    await expect(run(broken)).rejects.toMatchObject({ status: 13, message: expect.stringContaining("output") });
  });
});

async function answer(url: string, headers: Record<string, string>, body: readonly number[]): Promise<object> {
  const session = connectHttp2(url);
  closers.push(() => session.destroy());
  const stream = session.request({ ":method": "POST", ...headers });
  stream.on("error", () => undefined);
  const { promise, resolve } = Promise.withResolvers<object>();
  stream.on("response", resolve);
  stream.end(Buffer.from(body));
  stream.resume();
  return await promise;
}

test("a server that closes finishes the calls in progress, and refuses new ones", async () => {
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  const { promise: began, resolve: begin } = Promise.withResolvers<void>();
  const { server, url } = await serve(
    compose(async ({ results }) => {
      begin();
      await promise;
      results.normal("done");
    }),
  );
  const connection = connect(url);
  const call = new FunctionClient(connection).run(REQUEST, OPTIONS);
  await began;
  const closed = server.close(60_000);
  finish();
  expect((await call).response.results[0]?.message).toBe("done");
  await closed;
  await expect(new FunctionClient(connect(url)).run(REQUEST, OPTIONS)).rejects.toMatchObject({
    code: "ConnectionLost",
  });
});

test("a server that closes ends calls that take longer than their grace", async () => {
  const { promise: began, resolve: begin } = Promise.withResolvers<void>();
  const { server, url } = await serve(
    compose(async () => {
      begin();
      await new Promise(() => undefined);
    }),
  );
  const call = new FunctionClient(connect(url)).run(REQUEST, OPTIONS);
  const lost = expect(call).rejects.toMatchObject({ code: "ConnectionLost" });
  await began;
  await server.close(10);
  await lost;
});
