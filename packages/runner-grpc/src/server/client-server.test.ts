import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { protocolProxy } from "../../testing/protocol-proxy.ts";
import { abstractName, endless, Serving, TOKEN } from "../../testing/serving.ts";
import { DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES, type RunOptions, type ServedRunOptions } from "../index.ts";

const INPUT = Buffer.from("input");

describe.each([
  ["a path socket", (serving: Serving) => `unix:${serving.path("a.sock")}`],
  ["an abstract socket", () => `unix:///${abstractName()}`],
  ["TCP", () => "dns:///localhost:0"],
  ["an IPv4 address", () => "127.0.0.1:0"],
])("over %s", (_, where) => {
  test("passes input, options and output", async () => {
    await using serving = new Serving();
    const calls: [string, string, ServedRunOptions][] = [];
    const { address } = await serving.server({
      addresses: [where(serving)],
      tokenFile: serving.file("token", TOKEN),
      run: async (image, input, options) => {
        calls.push([image, Buffer.from(input).toString(), options]);
        return Buffer.from("output");
      },
    });
    const client = serving.client(address, { tokenFile: serving.path("token") });
    await client.ready(5_000);
    const options: RunOptions = {
      step: "über\nstep",
      timeoutMs: 1_234,
      network: "Accessible",
      memoryBytes: 64,
      cpus: 0.5,
      pullPolicy: "Always",
      auth: { username: "u", password: "p" },
    };
    const output = await client.run("registry.example.org/x:1", INPUT, options);
    expect(Buffer.from(output).toString()).toBe("output");
    expect(calls).toEqual([
      ["registry.example.org/x:1", "input", expect.objectContaining({ ...options, step: "über\ufffdstep" })],
    ]);
  });
});

test("passes the caller's socket and authentication to a run", async () => {
  await using serving = new Serving();
  const callers: unknown[] = [];
  const abstract = abstractName();
  await serving.server({
    addresses: [`unix:${serving.path("a.sock")}`, abstract],
    tokenFile: serving.file("token", TOKEN),
    run: async (_image, input, { caller }) => {
      callers.push(caller);
      return input;
    },
  });
  await serving.client(`unix:${serving.path("a.sock")}`).run("x", INPUT);
  await serving.client(abstract, { tokenFile: serving.path("token") }).run("x", INPUT);
  expect(callers).toEqual([
    { socket: "path", authentication: "socket", address: `unix:${serving.path("a.sock")}` },
    { socket: "abstract", authentication: "token", address: abstract },
  ]);
});

// A server with and without plain calls.
const PROTOCOLS = [
  ["a plain call", "pass"],
  ["gRPC", "close"],
] as const;

test.each(PROTOCOLS)("returns 20 MB unchanged by %s", async (_, policy) => {
  await using serving = new Serving();
  await serving.server();
  const { endpoint } = await protocolProxy(serving, policy);
  const input = Buffer.alloc(20_000_000, "0123456789abcdefg");
  const output = await serving.client(endpoint, { maxOutputBytes: input.length }).run("x", input);
  expect(Buffer.compare(input, output)).toBe(0);
});

// Node does not read from a connection while its own write waits for the peer: two peers that wait for each other would
// wait for ever.
test.each(["a path socket", "TCP"])(
  "large messages both ways at once on one connection over %s do not deadlock",
  async (transport) => {
    await using serving = new Serving();
    const tcp = { addresses: ["127.0.0.1:0"], insecureNoAuth: true };
    const { address } = await serving.server({ maxConcurrent: 8, ...(transport === "TCP" ? tcp : {}) });
    const port = transport === "TCP" ? Number(address.split(":").at(-1)) : undefined;
    const { endpoint } = await protocolProxy(serving, "close", port);
    const client = serving.client(endpoint);
    const input = new Uint8Array(4_000_000);
    for (let round = 0; round < 5; round++) {
      const outputs = await Promise.all(Array.from({ length: 8 }, () => client.run("x", input)));
      expect(outputs.map(({ length }) => length)).toEqual(outputs.map(() => input.length));
    }
  },
);

test.each(PROTOCOLS)("passes input and output of the largest size at once by %s", async (_, policy) => {
  await using serving = new Serving();
  await serving.server();
  const { endpoint } = await protocolProxy(serving, policy);
  const client = serving.client(endpoint, { maxOutputBytes: MAX_PAYLOAD_BYTES });
  const output = await client.run("x", new Uint8Array(MAX_PAYLOAD_BYTES));
  expect(output.length).toBe(MAX_PAYLOAD_BYTES);
});

test("an output of one byte more is an error, never a truncated success", async () => {
  await using serving = new Serving();
  const { address } = await serving.server({ run: async () => new Uint8Array(MAX_PAYLOAD_BYTES + 1) });
  const client = serving.client(address);
  await expect(client.run("x", INPUT)).rejects.toMatchObject({
    code: "OutputTooLarge",
    status: "RESOURCE_EXHAUSTED",
    phase: "output",
  });
});

test("a client receives no output over its own limit, 16 MiB by default", async () => {
  await using serving = new Serving();
  const { address } = await serving.server();
  const client = serving.client(address);
  expect(client.maxOutputBytes).toBe(DEFAULT_OUTPUT_BYTES);
  expect((await client.run("x", new Uint8Array(DEFAULT_OUTPUT_BYTES))).length).toBe(DEFAULT_OUTPUT_BYTES);
  // A message may exceed the limit of its output by the size of the envelope, so exceed the limit by more.
  const more = client.run("x", new Uint8Array(DEFAULT_OUTPUT_BYTES + 1024 * 1024));
  await expect(more).rejects.toMatchObject({ code: "OutputTooLarge", phase: "output" });
});

test("reports phases and the end of stderr before the output", async () => {
  await using serving = new Serving();
  const { address } = await serving.server({
    run: async (_image, input, { onPhase, onStderr }) => {
      onPhase("pull", 12.5);
      onPhase("run", 3);
      onStderr(`${"x".repeat(100_000)}a warning\nüber\n`);
      return input;
    },
  });
  const phases: unknown[] = [];
  let stderr = "";
  await serving.client(address).run("x", INPUT, {
    onPhase: (...phase) => phases.push(phase),
    onStderr: (tail) => {
      stderr = tail;
    },
  });
  expect(phases).toEqual([
    ["pull", 12.5],
    ["run", 3],
  ]);
  expect(stderr).toMatch(/a warning\nüber\n$/);
});

test("reports phases and stderr of a failed call too", async () => {
  await using serving = new Serving();
  const { address } = await serving.server({
    run: async (_image, _input, { onPhase, onStderr }) => {
      onPhase("pull", 2);
      onStderr("said before");
      throw Object.assign(new Error("m"), { code: "Timeout", phase: "timeout" });
    },
  });
  const reported: unknown[] = [];
  const call = serving.client(address).run("x", INPUT, {
    onPhase: (...phase) => reported.push(phase),
    onStderr: (tail) => reported.push(tail),
  });
  await expect(call).rejects.toMatchObject({ code: "Timeout", stderr: "said before" });
  expect(reported).toEqual(["said before", ["pull", 2]]);
});

test("a callback that throws fails its call, and nothing else", async () => {
  await using serving = new Serving();
  const { address } = await serving.server({
    run: async (_image, input, { onPhase }) => {
      onPhase("run", 1);
      return input;
    },
  });
  const client = serving.client(address);
  const onPhase = (): void => {
    throw new Error("of the caller");
  };
  await expect(client.run("x", INPUT, { onPhase })).rejects.toThrow("of the caller");
  expect(await client.run("x", INPUT)).toEqual(INPUT);
});

test("a client reconnects to a server that starts later, or again", async () => {
  await using serving = new Serving();
  const client = serving.client(`unix:${serving.path("runner.sock")}`);
  await expect(client.run("x", INPUT)).rejects.toMatchObject({
    code: "Unavailable",
    status: "UNAVAILABLE",
    retryable: true,
  });
  const { server } = await serving.server();
  await client.ready(10_000);
  await client.run("x", INPUT);
  await server.stop(0);
  await expect(client.run("x", INPUT)).rejects.toMatchObject({ code: "Unavailable" });
  await serving.server();
  await client.ready(10_000);
  expect(await client.run("x", INPUT)).toEqual(INPUT);
});

test("calls of one client share one connection", async () => {
  await using serving = new Serving();
  const barrier = Promise.withResolvers<void>();
  const { server } = await serving.server({
    run: async (_image, input) => {
      await barrier.promise;
      return input;
    },
  });
  let connections = 0;
  const proxy = createServer((socket) => {
    connections++;
    socket.pipe(connect(serving.path("runner.sock"))).pipe(socket);
  });
  await once(proxy.listen(serving.path("proxy.sock")), "listening");
  const client = serving.client(`unix:${serving.path("proxy.sock")}`);
  const calls = Array.from({ length: 4 }, () => client.run("x", INPUT));
  await expect.poll(() => server.counts().running).toBe(4);
  barrier.resolve();
  await Promise.all(calls);
  await client.run("x", INPUT);
  expect(connections).toBe(1);
  proxy.close();
});

describe("a server that stops", () => {
  test("waits for running calls, rejects new ones, and removes its socket", async () => {
    await using serving = new Serving();
    const barrier = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const { address, server } = await serving.server({
      run: async (_image, input) => {
        started.resolve();
        await barrier.promise;
        return input;
      },
    });
    const call = serving.client(address).run("x", INPUT);
    await started.promise;
    const stopped = server.stop(60_000);
    await expect(serving.client(address).run("x", INPUT)).rejects.toMatchObject({
      status: "UNAVAILABLE",
      retryable: true,
    });
    barrier.resolve();
    expect(await call).toEqual(INPUT);
    await stopped;
    expect(readdirSync(serving.folder)).toEqual([]);
  });

  test("ends calls after the grace period with a retryable error", async () => {
    await using serving = new Serving();
    const { run, started, ended } = endless();
    const { address, server } = await serving.server({ run });
    const call = serving.client(address).run("x", INPUT);
    const failed = expect(call).rejects.toMatchObject({ code: "Closed", status: "UNAVAILABLE", retryable: true });
    await started;
    await server.stop(10);
    await failed;
    expect(await ended).toMatchObject({ code: "Closed" });
  });

  test.each(PROTOCOLS)(
    "reports a call of %s that waits as undelivered, and not the one that runs",
    async (_, policy) => {
      await using serving = new Serving();
      const { run, started } = endless();
      const { server } = await serving.server({ run, maxConcurrent: 1 });
      const { endpoint } = await protocolProxy(serving, policy);
      const client = serving.client(endpoint);
      const input = Buffer.alloc(200_000);
      const running = client.run("x", input);
      await started;
      const waiting = client.run("x", input);
      await expect.poll(() => server.counts()).toEqual({ running: 1, waiting: 1 });
      await Promise.all([
        expect(running).rejects.toMatchObject({ code: "Closed", undelivered: false }),
        expect(waiting).rejects.toMatchObject({ code: "Closed", undelivered: true, retryAfterMs: 1_000 }),
        server.stop(10),
      ]);
    },
  );

  test.each(["before", "while"] as const)("stops at once if its grace period ends %s it stops", async (when) => {
    await using serving = new Serving();
    const { run, started, ended } = endless();
    const { address, server } = await serving.server({ run });
    const failed = expect(serving.client(address).run("x", INPUT)).rejects.toMatchObject({ code: "Closed" });
    await started;
    if (when === "before") server.endGrace();
    const stopped = server.stop(1_000_000);
    if (when === "while") server.endGrace();
    await stopped;
    await failed;
    expect(await ended).toMatchObject({ code: "Closed" });
  });
});

test.each(PROTOCOLS)("rejects a call of %s over the queue at once, with a retry hint", async (_, policy) => {
  await using serving = new Serving();
  const { run, started } = endless();
  const refused: string[] = [];
  const { server } = await serving.server({
    run,
    maxConcurrent: 1,
    maxQueued: 1,
    onRefused: ({ code }) => refused.push(code),
  });
  const { endpoint } = await protocolProxy(serving, policy);
  const client = serving.client(endpoint);
  const calls = [client.run("x", INPUT)];
  await started;
  calls.push(client.run("x", INPUT));
  for (const call of calls) call.catch(() => undefined);
  await expect.poll(() => server.counts()).toEqual({ running: 1, waiting: 1 });
  const full = client.run("x", new Uint8Array(50_000_000));
  await expect(full).rejects.toMatchObject({
    code: "QueueFull",
    status: "RESOURCE_EXHAUSTED",
    retryable: true,
    retryAfterMs: expect.any(Number),
  });
  expect(refused).toEqual(["QueueFull"]);
});

test("reports the outcome of each call", async () => {
  await using serving = new Serving();
  const outcomes: unknown[] = [];
  const { address } = await serving.server({
    run: async (image, input) =>
      image === "good" ? input : Promise.reject(Object.assign(new Error("m"), { code: "PullFailed" })),
    onCall: ({ image, step, error }) => outcomes.push([image, step, error?.code]),
  });
  const client = serving.client(address);
  await client.run("good", INPUT, { step: "one" });
  await client.run("bad", INPUT).catch(() => undefined);
  expect(outcomes).toEqual([
    ["good", "one", undefined],
    ["bad", undefined, "PullFailed"],
  ]);
});
