import { expect, test } from "vitest";
import { testAuthority, testCertificate } from "../../test/certificates.ts";
import { abstractName, Serving, TOKEN } from "../../test/serving.ts";
import type { RunnerClientOptions, RunnerServerOptions } from "../index.ts";

/** Two callers that the server can tell apart. */
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

test.each([
  ["tokens", "gRPC", byToken, 5],
  ["tokens", "plain calls", byToken, 200_000],
  ["certificates", "gRPC", byCertificate, 5],
  ["certificates", "plain calls", byCertificate, 200_000],
])("callers with their own %s take turns by %s", async (_, _protocol, callers, bytes) => {
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
