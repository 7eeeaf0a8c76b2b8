import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { testAuthority, testCertificate } from "../../testing/certificates.ts";
import { connected, PlainCaller, plainHead, statusIn } from "../../testing/plain-caller.ts";
import { abstractName, endless, Serving, TOKEN } from "../../testing/serving.ts";
import { MAX_MESSAGE_BYTES } from "../index.ts";
import { RunFunctionRequest } from "../wire/run-function.ts";

const MESSAGE = messageOf("x");
const { length } = MESSAGE;

function messageOf(image: string): Buffer {
  return Buffer.from(RunFunctionRequest.encode({ image, input: Buffer.from("input") }));
}

async function expectHealthy(serving: Serving): Promise<void> {
  await expect.poll(() => new PlainCaller(serving, { length }).send(MESSAGE), { timeout: 10_000 }).toBe(0);
}

test("serves plain calls and gRPC on one socket, one call a connection", async () => {
  await using serving = new Serving();
  await serving.server();
  const caller = new PlainCaller(serving, { length });
  expect(await caller.send(MESSAGE)).toBe(0);
  // RunFunctionResponse { bytes output = 1; }
  expect(await caller.bytes(7)).toEqual(Buffer.from("\x0a\x05input"));
  await caller.closed;
  expect(await serving.client(`unix:${serving.path("runner.sock")}`).run("x", MESSAGE)).toEqual(MESSAGE);
});

test("rejects unauthenticated, excess and oversized calls by their heads, without reading a message", async () => {
  await using serving = new Serving();
  const { run, started } = endless();
  const abstract = abstractName();
  const refused: string[] = [];
  await serving.server({
    run,
    addresses: [`unix:${serving.path("runner.sock")}`, abstract],
    tokenFile: serving.file("token", TOKEN),
    maxConcurrent: 1,
    maxQueued: 0,
    onRefused: ({ code }) => refused.push(code),
  });
  const socket = `\0${abstract.slice(1)}`;
  const status = async (head: object, path?: string): Promise<number> =>
    statusIn(await new PlainCaller(serving, head, path).head());
  expect(await status({ length }, socket)).toBe(16);
  const authorization = "Bearer b3RoZXItdG9rZW4tb2YtdGVzdHM";
  expect(await status({ length, metadata: { authorization } }, socket)).toBe(16);
  expect(await status({ length, metadata: { authorization: [`Bearer ${TOKEN}`, authorization] } }, socket)).toBe(16);
  expect(await status({ length: MAX_MESSAGE_BYTES + 1 })).toBe(8);
  expect(await status({ length, path: "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction" })).toBe(12);
  expect(await status({ length, timeoutMs: 2 ** 31 })).toBe(3);
  const running = new PlainCaller(serving, { length, metadata: { authorization: `Bearer ${TOKEN}` } }, socket);
  expect(await running.head()).toEqual({ go: true });
  running.socket.write(MESSAGE);
  await started;
  expect(await status({ length })).toBe(8);
  expect(refused).toEqual([
    "Unauthenticated",
    "Unauthenticated",
    "Unauthenticated",
    "InputTooLarge",
    "Unimplemented",
    "InvalidRequest",
    "QueueFull",
  ]);
});

test.each([
  ["a head of 4 GiB", plainHead("{}", 0xffffffff)],
  ["a head that is not JSON", plainHead("{")],
  ["a head that is not an object", plainHead("[]")],
  ["a head that is null", plainHead("null")],
  ["a head without a length", plainHead({ path: "/x", timeoutMs: 1 })],
  ["a negative length", plainHead({ path: "/x", timeoutMs: 1, length: -1 })],
  ["a length of half a byte", plainHead({ path: "/x", timeoutMs: 1, length: 0.5 })],
  ["another magic", Buffer.from("xfncall2\0\0\0\x02{}")],
])("closes a connection with %s", async (_, bytes) => {
  await using serving = new Serving();
  const { server } = await serving.server();
  const caller = new PlainCaller(serving);
  caller.socket.write(bytes);
  expect(await caller.head()).toBeUndefined();
  expect(server.counts()).toEqual({ running: 0, waiting: 0 });
  await expectHealthy(serving);
});

test.each([
  ["bytes that are not a message", Buffer.from("ffffffffffffffffffff", "hex")],
  ["groups nested a million deep", Buffer.alloc(1_000_000, 0x33)],
  ["no image", messageOf("")],
  ["nothing", Buffer.alloc(0)],
])("%s: ends with a status", async (_, bytes) => {
  await using serving = new Serving();
  await serving.server();
  expect(await new PlainCaller(serving, { length: bytes.length }).send(bytes)).toBe(3);
  await expectHealthy(serving);
});

test("metadata that gRPC would not carry is left out, and keys such as __proto__ do no harm", async () => {
  await using serving = new Serving();
  const steps: unknown[] = [];
  await serving.server({
    run: async (_image, input, { step }) => {
      steps.push(step);
      return input;
    },
  });
  // Given this object, Buffer.from would allocate as many bytes as its length says.
  const step = `[{"length":3},"${btoa("one")}"]`;
  const metadata = `{"__proto__":"x","a b":"x","x":"\\u0000","y":[1,null,{}],"xfn-step-bin":${step}}`;
  const caller = new PlainCaller(serving);
  caller.socket.write(
    plainHead(`{"path":"/${serving.service}/RunFunction","timeoutMs":9999,"length":${length},"metadata":${metadata}}`),
  );
  expect(await caller.send(MESSAGE)).toBe(0);
  expect(steps).toEqual(["one"]);
});

test.each([
  ["no message", ""],
  ["half a message", "half"],
])("a caller that sends %s loses its admission after a while", async (_, bytes) => {
  await using serving = new Serving();
  const { server } = await serving.server({ messageTimeoutMs: 200, maxConcurrent: 1, maxQueued: 0 });
  const caller = new PlainCaller(serving, { length: 1_000 });
  expect(await caller.head()).toEqual({ go: true });
  caller.socket.write(bytes);
  expect(statusIn(await caller.head())).toBe(4);
  caller.socket.destroy();
  await expectHealthy(serving);
  expect(server.counts()).toEqual({ running: 0, waiting: 0 });
});

test("a caller that sends more than its message loses the connection, and its run ends", async () => {
  await using serving = new Serving();
  const { run, started, ended } = endless();
  await serving.server({ run });
  const caller = new PlainCaller(serving, { length });
  expect(await caller.head()).toEqual({ go: true });
  caller.socket.write(MESSAGE);
  await started;
  caller.socket.write("more");
  expect(await ended).toMatchObject({ code: "Aborted" });
  expect(await caller.head()).toBeUndefined();
});

test("a caller that disconnects in its message runs nothing, and one that does later ends its run", async () => {
  await using serving = new Serving();
  const { run, started, ended } = endless();
  let runs = 0;
  const { server } = await serving.server({
    run: (...call) => {
      runs++;
      return run(...call);
    },
  });
  const half = new PlainCaller(serving, { length: 1_000 });
  expect(await half.head()).toEqual({ go: true });
  half.socket.end("half");
  await half.closed;
  const caller = new PlainCaller(serving, { length });
  expect(await caller.head()).toEqual({ go: true });
  caller.socket.write(MESSAGE);
  await started;
  caller.socket.destroy();
  expect(await ended).toMatchObject({ code: "Aborted" });
  expect(runs).toBe(1);
  await expect.poll(() => server.counts()).toEqual({ running: 0, waiting: 0 });
});

test("no timer stays for a caller that disconnects", async () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  const cleared = vi.spyOn(globalThis, "clearTimeout");
  onTestFinished(() => void vi.restoreAllMocks());
  await using serving = new Serving();
  const { run, started } = endless();
  const over = Promise.withResolvers<void>();
  const messageTimeoutMs = 54_321;
  await serving.server({ run, messageTimeoutMs, onCall: () => over.resolve() });
  const caller = new PlainCaller(serving, { length });
  expect(await caller.head()).toEqual({ go: true });
  caller.socket.write(MESSAGE);
  await started;
  caller.socket.destroy();
  await over.promise;
  const ended = new Set<unknown>(cleared.mock.calls.map(([timer]) => timer));
  const left = timers.mock.calls.flatMap(([, ms], index) =>
    ms === messageTimeoutMs && !ended.has(timers.mock.results[index]?.value) ? [ms] : [],
  );
  expect(left).toEqual([]);
});

test("a deadline ends the run and answers, also while the message arrives", async () => {
  await using serving = new Serving();
  const { run, ended } = endless();
  await serving.server({ run });
  expect(await new PlainCaller(serving, { length, timeoutMs: 2_000 }).send(MESSAGE)).toBe(4);
  expect(await ended).toMatchObject({ code: "Timeout" });
  const slow = new PlainCaller(serving, { length: 1_000, timeoutMs: 150 });
  expect(await slow.send(Buffer.from("half"))).toBe(4);
});

test("a caller that never takes its answer keeps its admission and answer for a while only", async () => {
  await using serving = new Serving();
  const { server } = await serving.server({
    run: async (image, input) => (image === "large" ? new Uint8Array(10_000_000) : input),
    messageTimeoutMs: 3_000,
    maxConcurrent: 1,
    maxQueued: 0,
  });
  const large = messageOf("large");
  const caller = new PlainCaller(serving, { length: large.length });
  expect(await caller.head()).toEqual({ go: true });
  caller.socket.pause().write(large);
  // Its run has ended, but not its admission.
  await expect
    .poll(async () => [await new PlainCaller(serving, { length }).send(MESSAGE), server.counts().running])
    .toEqual([8, 0]);
  await expectHealthy(serving);
});

test("closes connections that are silent, trickle, or never end their head", async () => {
  await using serving = new Serving();
  await serving.server({ idleTimeoutMs: 300, messageTimeoutMs: 300 });
  const callers = ["", "x", "xfncall\n"].map((bytes) => {
    const caller = new PlainCaller(serving);
    caller.socket.write(bytes);
    return caller.closed;
  });
  await Promise.all(callers);
  await expectHealthy(serving);
});

test.each(["", "x"])("closes a connection that ends after %j", async (bytes) => {
  await using serving = new Serving();
  await serving.server();
  const caller = new PlainCaller(serving);
  caller.socket.end(bytes);
  await caller.closed;
});

test("heads and prefaces may arrive a byte at a time", async () => {
  await using serving = new Serving();
  await serving.server();
  const bytewise = async (socket: { write(byte: Buffer): void }, bytes: Buffer): Promise<void> => {
    for (const byte of bytes) {
      socket.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const caller = new PlainCaller(serving);
  const path = `/${serving.service}/RunFunction`;
  await bytewise(caller.socket, plainHead({ path, timeoutMs: 60_000, length, metadata: {} }));
  expect(await caller.send(MESSAGE)).toBe(0);
  const http2 = connect(serving.path("runner.sock"));
  onTestFinished(() => void http2.destroy());
  await bytewise(http2, Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"));
  const [settings] = (await once(http2, "data")) as [Buffer];
  // The type of a SETTINGS frame, https://www.rfc-editor.org/rfc/rfc9113#section-6.5
  expect(settings[3]).toBe(4);
});

test("a server that stops closes silent connections, and answers its calls", async () => {
  await using serving = new Serving();
  const { run, started } = endless();
  const { server } = await serving.server({ run });
  const silent = new PlainCaller(serving);
  await connected(silent);
  const running = new PlainCaller(serving, { length });
  const status = running.send(MESSAGE);
  await started;
  await server.stop(0);
  expect(await status).toBe(14);
  await Promise.all([silent.closed, running.closed]);
});

test("plain connections count for the bound of connections, and leave it at their end", async () => {
  await using serving = new Serving();
  await serving.server({ maxConcurrent: 2_000 });
  for (let round = 0; round < 2; round++) {
    const callers: PlainCaller[] = [];
    for (let count = 0; count < 1_000; count++) {
      const caller = new PlainCaller(serving, { length });
      callers.push(caller);
      await connected(caller);
    }
    for (const caller of callers) expect(await caller.head()).toEqual({ go: true });
    expect(await new PlainCaller(serving, { length }).head()).toBeUndefined();
    for (const caller of callers) caller.socket.destroy();
    await Promise.all(callers.map(({ closed }) => closed));
    await expectHealthy(serving);
  }
});

test("over TLS, a connection that negotiates another protocol gets no call", async () => {
  await using serving = new Serving();
  const authority = testAuthority("ca");
  const { cert, key } = testCertificate("server", authority);
  const tls = { certFile: serving.file("c.pem", cert), keyFile: serving.file("k.pem", key) };
  const { address } = await serving.server({
    addresses: ["127.0.0.1:0"],
    tls,
    tokenFile: serving.file("token", TOKEN),
  });
  const port = Number(address.split(":").at(-1));
  const socket = connectTls({ host: "127.0.0.1", port, ca: authority.cert, ALPNProtocols: ["spdy/3"] });
  // A TLS alert.
  const [error] = (await once(socket, "error")) as [Error & { code?: string }];
  expect(error.code).toMatch(/NO_APPLICATION_PROTOCOL/);
});
