import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { testAuthority, testCertificate } from "../../testing/certificates.ts";
import { plainHead } from "../../testing/plain-caller.ts";
import { protocolProxy } from "../../testing/protocol-proxy.ts";
import { abstractName, endless, Serving, TOKEN } from "../../testing/serving.ts";
import { type ForwardCall, MAX_PAYLOAD_BYTES, type RunnerGrpcError } from "../index.ts";

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
const SMALL = Buffer.from("small");

describe("calls of function packages", () => {
  const forward: ForwardCall = async (_image, _path, request) => request;

  test("are plain on a local socket, whatever their size; on TCP, small ones are gRPC", async () => {
    await using serving = new Serving();
    const { server } = await serving.server({ forward });
    const local = await protocolProxy(serving);
    const client = serving.client(local.endpoint);
    expect(await client.callFunction("example.org/f:1", PATH, SMALL)).toEqual(SMALL);
    expect(await client.run("x", SMALL)).toEqual(SMALL);
    expect(local.seen).toEqual(["plain", "gRPC"]);
    // With the client's margin, this timeout is longer than a timer can be.
    expect(await client.callFunction("example.org/f:1", PATH, SMALL, { timeoutMs: 2 ** 31 - 1 })).toEqual(SMALL);
    await expect.poll(() => server.counts()).toEqual({ running: 0, waiting: 0 });
    const { address } = await serving.server({ addresses: ["127.0.0.1:0"], forward, insecureNoAuth: true });
    const remote = await protocolProxy(serving, "pass", Number(address.split(":").at(-1)));
    expect(await serving.client(remote.endpoint).callFunction("example.org/f:1", PATH, SMALL)).toEqual(SMALL);
    expect(remote.seen).toEqual(["gRPC"]);
  });

  test("follow one another on a connection, until the client or the server closes it", async () => {
    await using serving = new Serving();
    await serving.server({ forward, idleTimeoutMs: 1_000 });
    const proxy = await protocolProxy(serving);
    const client = serving.client(proxy.endpoint);
    const call = async (message: Buffer): Promise<void> =>
      expect(await client.callFunction("example.org/f:1", PATH, message)).toEqual(message);
    for (const message of [SMALL, Buffer.alloc(0), LARGE, SMALL]) await call(message);
    expect(proxy.seen).toEqual(["plain"]);
    await Promise.all([call(SMALL), call(LARGE)]);
    expect(proxy.seen).toEqual(["plain", "plain"]);
    // The server's timeout.
    await expect.poll(() => proxy.open(), { timeout: 5_000 }).toBe(0);
    await call(SMALL);
    expect(proxy.seen).toEqual(["plain", "plain", "plain"]);
    client.close();
    await expect.poll(() => proxy.open()).toBe(0);
  });

  test("leave a connection that does not keep their process running", async () => {
    await using serving = new Serving();
    const { address } = await serving.server({ forward });
    const code = `
      import { createRunnerClient } from ${JSON.stringify(fileURLToPath(new URL("../index.ts", import.meta.url)))};
      const client = createRunnerClient({ endpoint: ${JSON.stringify(address)} });
      for (const text of ["one", "two"]) {
        const answer = await client.callFunction("x", ${JSON.stringify(PATH)}, Buffer.from(text));
        console.log(Buffer.from(answer).toString());
      }
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code], {
      timeout: 30_000,
    });
    expect(stdout).toBe("one\ntwo\n");
  });

  test("that fail leave no connection behind", async () => {
    await using serving = new Serving();
    await serving.server({
      forward: async () => {
        throw new Error("boom");
      },
    });
    const proxy = await protocolProxy(serving);
    await expect(serving.client(proxy.endpoint).callFunction("x", PATH, SMALL)).rejects.toThrow(
      "the runner failed unexpectedly",
    );
    await expect.poll(() => proxy.open()).toBe(0);
  });

  test("are sent once more on a new connection, if the server closed the last one before it had the message", async () => {
    await using serving = new Serving();
    const messages: string[] = [];
    // Serves the first call, and closes the connection at the head of the second call.
    const endpoint = await fakeServer(serving, (socket) => {
      socket.once("data", () => {
        socket.write(GO);
        socket.once("data", (message) => {
          messages.push(message.toString());
          socket.write(answerHead(0, true));
          socket.once("data", () => socket.destroy());
        });
      });
    });
    const client = serving.client(endpoint);
    for (const message of ["a", "b", "c"]) await client.callFunction("x", PATH, Buffer.from(message));
    expect(messages).toEqual(["a", "b", "c"]);
    client.close();
  });

  test("are sent once more if the server resets the connection, and not a third time", async () => {
    await using serving = new Serving();
    const connections: Socket[] = [];
    const endpoint = await fakeServer(serving, (socket) => {
      connections.push(socket);
      socket.once("data", () => {
        // A server that closes each connection at the first head.
        if (connections.length === 3) return void socket.destroy();
        socket.write(GO);
        socket.once("data", () => socket.pause().write(answerHead(0, true)));
      });
    });
    const client = serving.client(endpoint);
    const call = (): Promise<Uint8Array> => client.callFunction("x", PATH, SMALL, { timeoutMs: 10_000 });
    await call();
    const second = call();
    // Destroying a socket with unread bytes resets its connection.
    connections[0]?.destroy();
    await second;
    expect(connections).toHaveLength(2);
    const third = call();
    connections[1]?.destroy();
    // gRPC calls continue on a fourth connection, and this is not a gRPC server.
    await expect(third).rejects.toMatchObject({ code: "Unavailable" });
    expect(connections.length).toBeGreaterThan(2);
    client.close();
  });

  test("are not sent again, if the connection is lost after the message", async () => {
    await using serving = new Serving();
    const messages: string[] = [];
    const endpoint = await fakeServer(serving, (socket) => {
      const serve = (): void => {
        socket.once("data", () => {
          socket.write(GO);
          socket.once("data", (message) => {
            messages.push(message.toString());
            if (messages.length === 2) return void socket.destroy();
            socket.write(answerHead(0, true));
            serve();
          });
        });
      };
      serve();
    });
    const client = serving.client(endpoint);
    await client.callFunction("x", PATH, Buffer.from("a"));
    await expect(client.callFunction("x", PATH, Buffer.from("b"))).rejects.toMatchObject({ code: "Unavailable" });
    expect(messages).toEqual(["a", "b"]);
    client.close();
  });

  test("have no connection whose server sends bytes between two calls", async () => {
    await using serving = new Serving();
    let connections = 0;
    const endpoint = await fakeServer(serving, (socket) => {
      connections++;
      socket.once("data", () => {
        socket.write(GO);
        socket.once("data", () => socket.write(Buffer.concat([answerHead(0, true), answerHead(0, true)])));
      });
      socket.once("close", () => closed.resolve());
    });
    const closed = Promise.withResolvers<void>();
    const client = serving.client(endpoint);
    await client.callFunction("x", PATH, SMALL);
    await closed.promise;
    await client.callFunction("x", PATH, SMALL);
    expect(connections).toBe(2);
    client.close();
  });
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

function answerHead(length: number, keep = false): Buffer {
  return plainHead({ status: 0, text: "", length, metadata: {}, keep });
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
