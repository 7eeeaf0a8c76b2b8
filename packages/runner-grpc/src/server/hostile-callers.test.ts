import { once } from "node:events";
import { constants } from "node:http2";
import { connect as connectSocket, type Socket } from "node:net";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { frame, open, PATH, session, statusOf } from "../../testing/http2-caller.ts";
import { abstractName, endless, Serving, TOKEN } from "../../testing/serving.ts";
import { MAX_MESSAGE_BYTES, SERVICE_NAME } from "../index.ts";
import { RunFunctionRequest } from "../wire/run-function.ts";

const INPUT = Buffer.from("input");

async function expectHealthy(serving: Serving): Promise<void> {
  const client = serving.client(`unix:${serving.path("runner.sock")}`);
  await client.ready(10_000);
  expect(await client.run("x", INPUT)).toEqual(INPUT);
}

test.each([
  ["bytes that are not a message", frame(Buffer.from("ffffffffffffffffffff", "hex")), 3],
  ["groups nested a million deep", frame(Buffer.alloc(1_000_000, 0x33)), 3],
  ["no image", frame(new Uint8Array()), 3],
  ["a length beyond the bound", frame(INPUT, MAX_MESSAGE_BYTES + 1), 8],
  ["a length of 4 GiB", frame(INPUT, 0xffffffff), 8],
  ["a compression that there is not", frame(INPUT, undefined, 1), undefined],
])("%s: ends with a status, and the next call is served", async (_, bytes, status) => {
  await using serving = new Serving();
  await serving.server();
  const stream = open(session(serving));
  stream.end(bytes);
  const answered = await statusOf(stream);
  if (status !== undefined) expect(answered).toBe(status);
  expect(answered).not.toBe(0);
  await expectHealthy(serving);
});

test("a message of the maximum + 1 is RESOURCE_EXHAUSTED before it is read", async () => {
  await using serving = new Serving();
  await serving.server();
  const message = RunFunctionRequest.encode({ image: "x", input: new Uint8Array(MAX_MESSAGE_BYTES) });
  const stream = open(session(serving));
  stream.end(frame(message));
  expect(await statusOf(stream)).toBe(8);
  await expectHealthy(serving);
});

test("compressed messages are UNIMPLEMENTED by their headers, without a message", async () => {
  await using serving = new Serving();
  const refused: string[] = [];
  await serving.server({ onRefused: ({ code }) => refused.push(code), health: { serving: true } });
  const caller = session(serving);
  for (const path of [PATH, "/grpc.health.v1.Health/Check"]) {
    for (const encoding of ["gzip", "deflate", "x"]) {
      const stream = open(caller, { ":path": path, "grpc-encoding": encoding });
      const [headers] = await once(stream, "response");
      expect(headers).toMatchObject({ "grpc-status": "12", "grpc-accept-encoding": "identity" });
    }
  }
  expect(refused).toEqual(["Unimplemented", "Unimplemented", "Unimplemented"]);
  await expectHealthy(serving);
});

test("streams of gzip bombs take no memory", async () => {
  await using serving = new Serving();
  await serving.server();
  const bomb = frame(gzipSync(Buffer.alloc(MAX_MESSAGE_BYTES)), undefined, 1);
  const caller = session(serving);
  const before = process.memoryUsage.rss();
  const streams = Array.from({ length: 30 }, () => open(caller, { "grpc-encoding": "gzip" }).end(bomb));
  expect(await Promise.all(streams.map(statusOf))).toEqual(streams.map(() => 12));
  await expectHealthy(serving);
  expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000);
});

test("answers offer no compression, and a request may name the identity encoding", async () => {
  await using serving = new Serving();
  await serving.server();
  const stream = open(session(serving), { "grpc-encoding": "identity" });
  stream.end(frame(RunFunctionRequest.encode({ image: "x", input: INPUT })));
  const [headers] = await once(stream, "response");
  expect(headers).toMatchObject({ "grpc-accept-encoding": "identity" });
});

test("a stream that ends before its message runs nothing", async () => {
  await using serving = new Serving();
  let runs = 0;
  const { server } = await serving.server({
    run: async (_image, input) => {
      runs++;
      return input;
    },
  });
  const caller = session(serving);
  open(caller).end(frame(INPUT, 1_000));
  open(caller).end();
  await expectHealthy(serving);
  expect(runs).toBe(1);
  expect(server.counts()).toEqual({ running: 0, waiting: 0 });
});

test("a caller that resets the call at its deadline has not cancelled it", async () => {
  await using serving = new Serving();
  const { run, started, ended } = endless();
  await serving.server({ run });
  const stream = open(session(serving), { "grpc-timeout": "199m" });
  stream.end(frame(RunFunctionRequest.encode({ image: "x", input: INPUT })));
  await started;
  stream.close(constants.NGHTTP2_CANCEL);
  expect(await ended).toMatchObject({ code: "Timeout" });
});

test.each([
  ["no message", new Uint8Array()],
  ["half a message", frame(INPUT, 1_000)],
  ["a message, and does not say that it is all", frame(RunFunctionRequest.encode({ image: "x", input: INPUT }))],
])("a caller that sends %s loses its admission after a while", async (_, bytes) => {
  await using serving = new Serving();
  await serving.server({ messageTimeoutMs: 200, maxConcurrent: 1, maxQueued: 0 });
  const stream = open(session(serving));
  stream.write(bytes);
  expect(await statusOf(stream)).toBe(4);
  await expectHealthy(serving);
});

test("rejects unauthenticated and excess calls by their headers, without reading a message", async () => {
  await using serving = new Serving();
  const { run, started } = endless();
  const abstract = abstractName();
  await serving.server({
    run,
    addresses: [`unix:${serving.path("runner.sock")}`, abstract],
    tokenFile: serving.file("token", TOKEN),
    maxConcurrent: 1,
    maxQueued: 0,
  });
  expect(await statusOf(open(session(serving, `\0${abstract.slice(1)}`)))).toBe(16);
  const running = serving.client(`unix:${serving.path("runner.sock")}`).run("x", INPUT);
  running.catch(() => undefined);
  await started;
  expect(await statusOf(open(session(serving)))).toBe(8);
});

test("messages of waiting calls take bounded memory: one over the bound is rejected while it arrives", async () => {
  await using serving = new Serving();
  const { run, started } = endless();
  const refused: string[] = [];
  const { server } = await serving.server({
    run,
    maxConcurrent: 1,
    maxQueued: 8,
    maxQueuedBytes: 1_000_000,
    onRefused: ({ code }) => refused.push(code),
  });
  const client = serving.client(`unix:${serving.path("runner.sock")}`);
  const running = client.run("x", INPUT);
  running.catch(() => undefined);
  await started;
  const caller = session(serving);
  const waiting = open(caller).end(frame(RunFunctionRequest.encode({ image: "x", input: Buffer.alloc(900_000) })));
  await expect.poll(() => server.counts()).toEqual({ running: 1, waiting: 1 });
  const half = open(caller);
  half.write(frame(Buffer.alloc(200_000), MAX_MESSAGE_BYTES));
  expect(await statusOf(half)).toBe(8);
  if (!half.closed) await once(half, "close");
  // Large messages of our own client are rejected before they arrive.
  await expect(client.run("x", Buffer.alloc(200_000))).rejects.toMatchObject({ code: "QueueFull", retryable: true });
  expect(refused).toEqual(["QueueFull", "QueueFull"]);
  waiting.close();
  await expect.poll(() => server.counts()).toEqual({ running: 1, waiting: 0 });
  const next = client.run("x", Buffer.alloc(200_000));
  next.catch(() => undefined);
  await expect.poll(() => server.counts()).toEqual({ running: 1, waiting: 1 });
});

test("rejects 10,000 metadata entries, and serves the next call", async () => {
  await using serving = new Serving();
  await serving.server();
  const headers = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`x-${index}`, "1"]));
  const stream = open(session(serving), headers);
  stream.end(frame(RunFunctionRequest.encode({ image: "x", input: INPUT })));
  expect(await statusOf(stream)).not.toBe(0);
  await expectHealthy(serving);
});

test("rejects a metadata entry of a megabyte, and serves the next call", async () => {
  await using serving = new Serving();
  await serving.server();
  const stream = open(session(serving), { "xfn-step-bin": Buffer.alloc(750_000).toString("base64") });
  stream.end(frame(RunFunctionRequest.encode({ image: "x", input: INPUT })));
  expect(await statusOf(stream)).not.toBe(0);
  await expectHealthy(serving);
});

test("a flood of streams that are reset at once (CVE-2023-44487) leaves no call behind", async () => {
  await using serving = new Serving();
  const { run } = endless();
  let flooding = true;
  const { server } = await serving.server({ run: (...call) => (flooding ? run(...call) : Promise.resolve(INPUT)) });
  const bytes = frame(RunFunctionRequest.encode({ image: "x", input: INPUT }));
  const caller = session(serving);
  await once(caller, "connect");
  for (let index = 0; index < 5_000 && !caller.destroyed; index++) {
    const stream = open(caller);
    stream.end(bytes);
    stream.close(constants.NGHTTP2_CANCEL);
    if (index % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  caller.destroy();
  await expect.poll(() => server.counts()).toEqual({ running: 0, waiting: 0 });
  flooding = false;
  await expectHealthy(serving);
});

test.each([
  ["never takes its answer", { settings: { initialWindowSize: 0 } }, {}],
  [
    "never takes its answer, and whose deadline passes",
    { settings: { initialWindowSize: 0 } },
    { "grpc-timeout": "1S" },
  ],
])("a caller that %s keeps its admission and answer for a while only", async (_, http2, headers) => {
  await using serving = new Serving();
  const { server } = await serving.server({
    run: async (image, input) => (image === "large" ? new Uint8Array(1_000_000) : input),
    messageTimeoutMs: 3_000,
    maxConcurrent: 1,
    maxQueued: 0,
  });
  const stream = open(session(serving, undefined, http2), headers);
  stream.end(frame(RunFunctionRequest.encode({ image: "large", input: INPUT })));
  await once(stream, "response");
  await expect.poll(() => server.counts().running).toBe(0);
  const client = serving.client(`unix:${serving.path("runner.sock")}`);
  await expect(client.run("x", INPUT)).rejects.toMatchObject({ code: "QueueFull" });
  await once(stream, "close");
  await expectHealthy(serving);
});

// [length: 3][type][flags][stream: 4]: https://www.rfc-editor.org/rfc/rfc9113#section-4.1
const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from("000000040000000000", "hex"),
]);
test.each([
  ["pings (CVE-2019-9512)", Buffer.from("0000080600000000000000000000000000", "hex")],
  ["settings (CVE-2019-9515)", Buffer.from("000000040000000000", "hex")],
  ["empty frames of no stream's end (CVE-2019-9518)", Buffer.from("000000000000000001", "hex")],
  ["resets of no stream", Buffer.from("00000403000000000100000008", "hex")],
  ["changes of priority", Buffer.from("0000050200000000010000000000", "hex")],
])("a flood of %s, whose answers are never read, does no harm", async (_, flood) => {
  await using serving = new Serving();
  await serving.server();
  const socket = connectSocket(serving.path("runner.sock"));
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(PREFACE);
  const many = Buffer.alloc(flood.length * 10_000, flood);
  const before = process.memoryUsage.rss();
  for (let count = 0; count < 50 && !socket.destroyed; count++) {
    // The server may have closed the connection, or may have stopped reading.
    await Promise.race([new Promise((resolve) => socket.write(many, resolve)), sleep(200)]);
  }
  await expectHealthy(serving);
  expect(process.memoryUsage.rss() - before).toBeLessThan(300_000_000);
});

test("closes excess connections at once, and keeps existing ones", async () => {
  await using serving = new Serving();
  await serving.server();
  const path = serving.path("runner.sock");
  const client = serving.client(`unix:${path}`);
  await client.run("x", INPUT);
  let closed = 0;
  const sockets: Socket[] = [];
  for (let count = 0; count < 1_100; count++) {
    const socket = connectSocket(path);
    sockets.push(socket.on("error", () => undefined).on("close", () => closed++));
    socket.resume();
    // A socket with a full backlog refuses to connect, so wait for each connection.
    await once(socket, "connect");
  }
  await expect.poll(() => closed).toBe(101);
  await client.run("x", INPUT);
  for (const socket of sockets) socket.destroy();
  await expectHealthy(serving);
});

test("closes a connection without a call after a while, and keeps one with a call", async () => {
  await using serving = new Serving();
  const barrier = Promise.withResolvers<void>();
  const path = serving.path("runner.sock");
  await serving.server({
    idleTimeoutMs: 300,
    run: async (_image, input) => {
      await barrier.promise;
      return input;
    },
  });
  const call = serving.client(`unix:${path}`).run("x", INPUT);
  // Neither connection sends anything beyond a greeting.
  const [silent, greeting] = [connectSocket(path), session(serving)];
  silent.on("error", () => undefined).resume();
  await Promise.all([once(silent, "close"), once(greeting, "close")]);
  barrier.resolve();
  expect(await call).toEqual(INPUT);
});

test("bytes that are not HTTP/2 close only their connection", async () => {
  await using serving = new Serving();
  await serving.server();
  for (const bytes of [
    "GET / HTTP/1.1\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    "\0".repeat(1_000),
  ]) {
    const socket = connectSocket(serving.path("runner.sock"));
    socket.on("error", () => undefined);
    socket.end(Buffer.from(bytes, "latin1"));
    socket.resume();
    await once(socket, "close");
  }
  await expectHealthy(serving);
});

test("another method of the service, or another service, is UNIMPLEMENTED", async () => {
  await using serving = new Serving();
  await serving.server();
  const stream = open(session(serving), { ":path": `/${SERVICE_NAME}/Other` });
  stream.end(frame(INPUT));
  expect(await statusOf(stream)).toBe(12);
});
