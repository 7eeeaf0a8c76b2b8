import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { attacksOf, callFunction, callWebhook } from "../fuzz/hostile-servers/attacks.ts";
import { type HostileServers, startServers } from "../fuzz/hostile-servers/start-servers.ts";
import { isTypedError } from "../vectors/adapter.ts";

// A sample of `npm run fuzz -- hostile-servers`: the kinds that ended a process, or kept it busy until the deadline.
const SAMPLE = [
  "function: interim responses of 4 KB",
  "function: interim responses that expand",
  "function: empty data",
  "function: data without end",
  "function: data after the answer",
  "function: pings after the answer",
  "function: ORIGIN frames",
  "function: padding alone",
  "function: window updates of the stream",
  "runner: interim responses of 4 KB",
  "runner: ALTSVC frames",
  "runner: settings that move the window",
  "runner: a GOAWAY that refuses the call",
  "webhook: interim responses",
  "webhook: blank lines",
  "webhook: a chunk extension that never ends",
  "webhook: chunks of one byte",
  "registry: interim responses",
  "registry: trailers that never end",
  "registry: a chunk size of zeros",
];

/** No bound of time ends these calls, so a call that ends was ended by another bound. */
const NEVER_MS = 3_600_000;

let servers: HostileServers;
beforeAll(async () => {
  servers = await startServers();
});
afterAll(() => servers[Symbol.dispose]());

test("there are at least 40 kinds of hostile servers", () => {
  const { http2, http1 } = servers.ports;
  expect(Object.keys({ ...http2, ...http1 }).length).toBeGreaterThanOrEqual(40);
});

describe("a hostile server's call ends with a typed error, before its deadline", () => {
  test.each(SAMPLE)("%s", async (name) => {
    const attack = attacksOf(servers.ports).find((one) => one.name === name);
    expect(attack).toBeDefined();
    const error: unknown = await attack?.run(NEVER_MS).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toSatisfy(isTypedError);
  });
});

test("a good server answers while a hostile one runs", async () => {
  const { ports } = servers;
  const attack = attacksOf(ports).find(({ name }) => name === "function: interim responses of 4 KB");
  const attacked = attack?.run(NEVER_MS).catch(() => undefined);
  await expect(callFunction(ports.good.http2, NEVER_MS)).resolves.toBeDefined();
  await expect(callWebhook(ports.good.https, NEVER_MS)).resolves.toBeDefined();
  await attacked;
});
