import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { testAuthority, testCertificate } from "../../testing/certificates.ts";
import { plainHead } from "../../testing/plain-caller.ts";
import { protocolProxy } from "../../testing/protocol-proxy.ts";
import { abstractName, endless, Serving, TOKEN } from "../../testing/serving.ts";
import { MAX_PAYLOAD_BYTES, type RunnerGrpcError } from "../index.ts";

const GO = plainHead({ go: true });
const LARGE = Buffer.alloc(200_000, "0123456789abcdefg");

test("large messages are plain calls, each on a connection that ends with it; small ones are gRPC", async () => {
  await using serving = new Serving();
  await serving.server();
  const proxy = await protocolProxy(serving);
  const client = serving.client(proxy.endpoint);
  expect(await client.run("x", LARGE)).toEqual(LARGE);
  expect(await client.run("x", LARGE)).toEqual(LARGE);
  await expect.poll(() => proxy.open()).toBe(0);
  expect(await client.run("x", Buffer.from("small"))).toEqual(Buffer.from("small"));
  expect(proxy.seen).toEqual(["plain", "plain", "gRPC"]);
});

const PATH = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

test("a call is not sent again, if the connection is lost after the message", async () => {
  await using serving = new Serving();
  let messages = 0;
  const endpoint = await fakeServer(serving, (socket) => {
    socket.once("data", () => {
      socket.write(GO);
      socket.once("data", () => {
        messages++;
        socket.destroy();
      });
    });
  });
  const client = serving.client(endpoint);
  await expect(client.callFunction("example.org/f:1", PATH, LARGE)).rejects.toMatchObject({ code: "Unavailable" });
  expect(messages).toBe(1);
});

test.each(["close", "ignore"] as const)(
  "a server that would %s plain calls is called by gRPC, and not asked again for a while",
  async (policy) => {
    await using serving = new Serving();
    await serving.server();
    const proxy = await protocolProxy(serving, policy);
    const client = serving.client(proxy.endpoint);
    expect(await client.run("x", LARGE)).toEqual(LARGE);
    expect(await client.run("x", LARGE)).toEqual(LARGE);
    expect(proxy.seen).toEqual(["plain", "gRPC"]);
    client.close();
    await expect.poll(() => proxy.open()).toBe(0);
  },
);

test("passes the caller's step, token and socket, and the largest messages both ways at once", async () => {
  await using serving = new Serving();
  const calls: unknown[] = [];
  const { address } = await serving.server({
    addresses: [abstractName()],
    tokenFile: serving.file("token", TOKEN),
    run: async (image, input, { step, caller }) => {
      calls.push([image, step, caller.authentication]);
      return input;
    },
  });
  const client = serving.client(address, { tokenFile: serving.path("token"), maxOutputBytes: MAX_PAYLOAD_BYTES });
  const output = await client.run("x:1", new Uint8Array(MAX_PAYLOAD_BYTES), { step: "über" });
  expect(output.length).toBe(MAX_PAYLOAD_BYTES);
  expect(calls).toEqual([["x:1", "über", "token"]]);
  const wrong = serving.client(address, { tokenFile: serving.file("other", "b3RoZXItdG9rZW4tb2YtdGVzdHM") });
  await expect(wrong.run("x", LARGE)).rejects.toMatchObject({ code: "Unauthenticated" });
});

test("over mTLS, the server requires a certificate, and the client that of the server", async () => {
  await using serving = new Serving();
  const authority = testAuthority("ca");
  const other = testAuthority("other");
  serving.file("ca.pem", authority.cert);
  serving.file("other-ca.pem", other.cert);
  const identity = (name: string, issuer: typeof authority): { certFile: string; keyFile: string } => {
    const { cert, key } = testCertificate(name, issuer);
    return { certFile: serving.file(`${name}.pem`, cert), keyFile: serving.file(`${name}.key`, key) };
  };
  let runs = 0;
  const { address } = await serving.server({
    addresses: ["dns:///localhost:0"],
    tls: { ...identity("server", authority), caFile: serving.path("ca.pem") },
    run: async (_image, input) => {
      runs++;
      return input;
    },
  });
  const caFile = serving.path("ca.pem");
  const client = serving.client(address, { tls: { caFile, ...identity("client", authority) } });
  expect(await client.run("x", LARGE)).toEqual(LARGE);
  for (const tls of [
    { caFile },
    { caFile, ...identity("other", other) },
    { caFile: serving.path("other-ca.pem"), ...identity("client", authority) },
  ]) {
    await expect(serving.client(address, { tls }).run("x", LARGE)).rejects.toMatchObject({ code: "Unavailable" });
  }
  expect(runs).toBe(1);
});

describe("errors and ends of plain calls", () => {
  test("errors keep their details, phases and stderr", async () => {
    await using serving = new Serving();
    const details = { code: "NonZeroExit", phase: "run", stderr: "boom ü\n", exitCode: 3, retryable: false };
    await serving.server({
      run: async (_image, _input, { onPhase }) => {
        onPhase("pull", 2);
        throw Object.assign(new Error("\ud800 100%\n\0 ü"), details);
      },
    });
    const proxy = await protocolProxy(serving);
    const reported: unknown[] = [];
    const error: RunnerGrpcError = await serving
      .client(proxy.endpoint)
      .run("x", LARGE, {
        step: "compose",
        onPhase: (...phase) => reported.push(phase),
        onStderr: (tail) => reported.push(tail),
      })
      .then(
        () => expect.unreachable(),
        (thrown: RunnerGrpcError) => thrown,
      );
    expect(error).toMatchObject({ ...details, message: "\ufffd 100%\n\\x00 ü", status: "UNKNOWN", step: "compose" });
    expect(reported).toEqual(["boom ü\n", ["pull", 2]]);
    expect(proxy.seen).toEqual(["plain"]);
  });

  test("an aborted call ends the run and its connection", async () => {
    await using serving = new Serving();
    const { run, started, ended } = endless();
    const { server } = await serving.server({ run });
    const proxy = await protocolProxy(serving);
    const aborter = new AbortController();
    const call = serving.client(proxy.endpoint).run("x", LARGE, { signal: aborter.signal });
    await started;
    aborter.abort(new Error("enough"));
    await expect(call).rejects.toMatchObject({ code: "Aborted", retryable: false, cause: aborter.signal.reason });
    expect(await ended).toMatchObject({ code: "Aborted" });
    await expect.poll(() => [server.counts().running, proxy.open()]).toEqual([0, 0]);
    expect(proxy.seen).toEqual(["plain"]);
  });

  test("a client that is closed ends its calls", async () => {
    await using serving = new Serving();
    const { run, started, ended } = endless();
    const { address } = await serving.server({ run });
    const client = serving.client(address);
    const call = client.run("x", LARGE);
    await started;
    client.close();
    await expect(call).rejects.toMatchObject({ code: "Closed", retryable: true });
    expect(await ended).toMatchObject({ code: "Aborted" });
  });

  test("a deadline ends the run, and both sides report it", async () => {
    await using serving = new Serving();
    const { run, ended } = endless();
    await serving.server({ run });
    const proxy = await protocolProxy(serving);
    const call = serving.client(proxy.endpoint, { marginMs: 50 }).run("x", LARGE, { timeoutMs: 3_000 });
    await expect(call).rejects.toMatchObject({ code: "Timeout", status: "DEADLINE_EXCEEDED", phase: "timeout" });
    expect(await ended).toMatchObject({ code: "Timeout" });
    await expect.poll(() => proxy.open()).toBe(0);
    expect(proxy.seen).toEqual(["plain"]);
  });

  test("a client receives no output over its own limit", async () => {
    await using serving = new Serving();
    const { address } = await serving.server({ run: async () => new Uint8Array(2_000_000) });
    const client = serving.client(address, { maxOutputBytes: 1_000_000 });
    await expect(client.run("x", LARGE)).rejects.toMatchObject({ code: "OutputTooLarge", phase: "output" });
  });

  test("a server that stops waits for running calls, then ends them with a retryable error", async () => {
    await using serving = new Serving();
    const { run, started } = endless();
    const { address, server } = await serving.server({ run });
    const failed = expect(serving.client(address).run("x", LARGE)).rejects.toMatchObject({
      code: "Closed",
      status: "UNAVAILABLE",
      retryable: true,
    });
    await started;
    await server.stop(10);
    await failed;
  });

  test("rejects a call over the queue before its message", async () => {
    await using serving = new Serving();
    const { run, started } = endless();
    const { server } = await serving.server({ run, maxConcurrent: 1, maxQueued: 0 });
    const proxy = await protocolProxy(serving);
    const client = serving.client(proxy.endpoint);
    client.run("x", LARGE).catch(() => undefined);
    await started;
    const full = client.run("x", new Uint8Array(50_000_000));
    await expect(full).rejects.toMatchObject({ code: "QueueFull", retryAfterMs: expect.any(Number) });
    expect(server.counts()).toEqual({ running: 1, waiting: 0 });
    expect(proxy.seen).toEqual(["plain", "plain"]);
  });

  test("forwards a large message and long credentials to a function package", async () => {
    await using serving = new Serving();
    const calls: unknown[] = [];
    await serving.server({
      forward: async (image, path, request, { auth }) => {
        calls.push([image, path, request.length, auth]);
        return request;
      },
    });
    const proxy = await protocolProxy(serving);
    const auth = { registryToken: "x".repeat(32_000) };
    const answer = await serving.client(proxy.endpoint).callFunction("example.org/f:1", PATH, LARGE, { auth });
    expect(Buffer.from(answer)).toEqual(LARGE);
    expect(calls).toEqual([["example.org/f:1", PATH, LARGE.length, auth]]);
    expect(proxy.seen).toEqual(["plain"]);
  });
});

describe("a hostile or broken server", () => {
  /** Answers plain calls: writes bytes after a head, and then answers the message. */
  const fake = (serving: Serving, onHead: Uint8Array, onMessage: (socket: Socket) => void): Promise<string> =>
    fakeServer(serving, (socket) => {
      socket.once("data", () => {
        socket.write(onHead);
        socket.once("data", () => onMessage(socket));
      });
    });
  const half = (head: Buffer): Buffer => Buffer.concat([head, Buffer.from("half")]);

  test.each([
    ["half an answer", half(answerHead(1_000))],
    ["no byte", Buffer.alloc(0)],
    ["half a head", answerHead(4).subarray(0, 20)],
    ["bytes of another protocol", Buffer.from("HTTP/1.1 200 OK\r\n\r\n")],
    ["an answer without a status", plainHead({ length: 4 })],
    ["another request for the message", plainHead({ go: true })],
  ])("that sends %s and closes the connection makes the call Unavailable", async (_, bytes) => {
    await using serving = new Serving();
    const endpoint = await fake(serving, GO, (socket) => socket.end(bytes));
    const call = serving.client(endpoint).run("x", LARGE);
    await expect(call).rejects.toMatchObject({ code: "Unavailable", retryable: true });
  });

  test.each([
    ["that is longer than the client's limit", answerHead(Number.MAX_SAFE_INTEGER), "OutputTooLarge"],
    ["with a head of 4 GiB", plainHead("{}", 0xffffffff), "Unavailable"],
  ])("cannot exhaust a client by an answer %s", async (_, bytes, code) => {
    await using serving = new Serving();
    const endpoint = await fake(serving, GO, (socket) => socket.write(bytes));
    await expect(serving.client(endpoint).run("x", LARGE)).rejects.toMatchObject({ code });
  });

  test.each([
    ["never answers", Buffer.alloc(0)],
    ["sends half of its answer", half(answerHead(1_000))],
  ])("that %s holds a call until its deadline", async (_, bytes) => {
    await using serving = new Serving();
    const endpoint = await fake(serving, GO, (socket) => socket.write(bytes));
    const call = serving.client(endpoint, { marginMs: 50 }).run("x", LARGE, { timeoutMs: 150 });
    await expect(call).rejects.toMatchObject({ code: "Timeout" });
  });
});

function answerHead(length: number): Buffer {
  return plainHead({ status: 0, text: "", length, metadata: {} });
}

/** Lets a test serve connections. @returns the endpoint */
async function fakeServer(serving: Serving, serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined).on("close", () => sockets.delete(socket)));
    serve(socket);
  });
  await once(server.listen(serving.path("fake.sock")), "listening");
  onTestFinished(async () => {
    // The client must have closed its connections, no matter what the server did.
    await expect.poll(() => sockets.size).toBe(0);
    server.close();
  });
  return `unix:${serving.path("fake.sock")}`;
}
