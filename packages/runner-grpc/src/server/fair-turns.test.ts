import { expect, test } from "vitest";
import { testAuthority, testCertificate } from "../../testing/certificates.ts";
import { open, session, statusOf } from "../../testing/http2-caller.ts";
import { PlainCaller, statusIn } from "../../testing/plain-caller.ts";
import { abstractName, Serving, TOKEN } from "../../testing/serving.ts";
import type { RunnerClientOptions, RunnerServerOptions } from "../index.ts";

/** Two callers that the server can distinguish. */
type Callers = (serving: Serving) => {
  server: Partial<RunnerServerOptions>;
  clients: Partial<RunnerClientOptions>[];
};

const byToken: Callers = (serving) => {
  const tokens = [TOKEN, `${TOKEN}2`];
  return {
    server: { addresses: [abstractName()], tokenFile: serving.file("tokens", tokens.join("\n")) },
    clients: tokens.map((token, index) => ({ tokenFile: serving.file(`token-${index}`, token) })),
  };
};

const byCertificate: Callers = (serving) => {
  const authority = testAuthority("ca");
  const files = (name: string): { caFile: string; certFile: string; keyFile: string } => {
    const { cert, key } = testCertificate(name, authority);
    return {
      caFile: serving.file("ca.crt", authority.cert),
      certFile: serving.file(`${name}.crt`, cert),
      keyFile: serving.file(`${name}.key`, key),
    };
  };
  return {
    server: { addresses: ["127.0.0.1:0"], tls: files("server") },
    clients: ["a", "b"].map((name) => ({ tls: files(name) })),
  };
};

const KINDS: [string, string, Callers, number][] = [
  ["tokens", "gRPC", byToken, 5],
  ["tokens", "plain calls", byToken, 200_000],
  ["certificates", "gRPC", byCertificate, 5],
  ["certificates", "plain calls", byCertificate, 200_000],
];

test.each(KINDS)("callers with their own %s take turns by %s", async (_, _protocol, callers, bytes) => {
  await using serving = new Serving();
  const options = callers(serving);
  const order: string[] = [];
  const started = Promise.withResolvers<void>();
  const blocked = Promise.withResolvers<void>();
  const { server, address } = await serving.server({
    ...options.server,
    maxConcurrent: 1,
    maxQueued: 16,
    run: async (image, input) => {
      order.push(image);
      started.resolve();
      await blocked.promise;
      return input;
    },
  });
  const [greedy, modest] = options.clients.map((client) => serving.client(address, client));
  const input = Buffer.alloc(bytes);
  const calls = [greedy!.run("first", input)];
  await started.promise;
  const queue = [
    [greedy!, "greedy-1"],
    [greedy!, "greedy-2"],
    [greedy!, "greedy-3"],
    [modest!, "modest-1"],
    [modest!, "modest-2"],
  ] as const;
  for (const [index, [client, name]] of queue.entries()) {
    calls.push(client.run(name, input));
    await expect.poll(() => server.counts().waiting).toBe(index + 1);
  }
  blocked.resolve();
  await Promise.all(calls);
  expect(order).toEqual(["first", "greedy-1", "modest-1", "greedy-2", "modest-2", "greedy-3"]);
});

test.each(KINDS)(
  "no caller fills the queue for others: with their own %s, by %s",
  async (_, _protocol, callers, bytes) => {
    await using serving = new Serving();
    const options = callers(serving);
    const order: string[] = [];
    const blocked = Promise.withResolvers<void>();
    const { server, address } = await serving.server({
      ...options.server,
      maxConcurrent: 1,
      maxQueued: 2,
      run: async (image, input) => {
        order.push(image);
        await blocked.promise;
        return input;
      },
    });
    const [greedy, modest] = options.clients.map((client) => serving.client(address, client));
    const input = Buffer.alloc(bytes);
    const calls: Promise<unknown>[] = [];
    for (const [index, name] of ["greedy-1", "greedy-2", "greedy-3"].entries()) {
      calls.push(greedy!.run(name, input).catch(({ code, retryable }) => ({ code, retryable })));
      await expect.poll(() => server.counts()).toEqual({ running: 1, waiting: index });
    }
    calls.push(modest!.run("modest", input));
    expect(await calls[2]).toEqual({ code: "QueueFull", retryable: true });
    blocked.resolve();
    await Promise.all(calls);
    expect(order).toEqual(["greedy-1", "greedy-2", "modest"]);
  },
);

test.each([
  ["gRPC", false],
  ["plain calls", true],
])("a caller that fills the queue without messages loses its newest call to another, by %s", async (_, isPlain) => {
  await using serving = new Serving();
  // Tokens are read only where file permissions do not protect the socket.
  const name = abstractName();
  const socket = `\0${name.slice(1)}`;
  const tokens = [TOKEN, `${TOKEN}2`];
  const refused: string[] = [];
  const { address } = await serving.server({
    addresses: [name],
    tokenFile: serving.file("tokens", tokens.join("\n")),
    maxConcurrent: 1,
    maxQueued: 1,
    onRefused: ({ code }) => refused.push(code),
  });
  const authorization = `Bearer ${TOKEN}`;
  const caller = session(serving, socket);
  const statuses: Promise<number>[] = [];
  const sockets: { destroy(): unknown }[] = [caller];
  for (let call = 0; call < 2; call++) {
    if (isPlain) {
      const plain = new PlainCaller(serving, { length: 200_000, metadata: { authorization } }, socket);
      expect(await plain.head()).toEqual({ go: true });
      plain.socket.write(Buffer.alloc(100_000));
      sockets.push(plain.socket);
      statuses.push(plain.head().then(statusIn));
    } else statuses.push(statusOf(open(caller, { authorization })));
  }
  const other = serving.client(address, { tokenFile: serving.file("other", tokens[1]!) });
  await expect
    .poll(async () => {
      await other.run("x", Buffer.from("input"));
      return refused;
    })
    .toEqual(["QueueFull"]);
  expect(await statuses[1]).toBe(8);
  for (const socket of sockets) socket.destroy();
});
