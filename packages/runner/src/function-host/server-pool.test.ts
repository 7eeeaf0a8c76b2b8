import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type PooledServer, ServerPool } from "./server-pool.ts";

class FakeServer implements PooledServer {
  readonly name: string;
  readonly #end = Promise.withResolvers<void>();
  readonly ended = this.#end.promise;
  over = false;

  constructor(name: string) {
    this.name = name;
  }

  end(): void {
    this.over = true;
    this.#end.resolve();
  }
}

let started: FakeServer[];
let ends: string[];
let pool: ServerPool<FakeServer>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  started = [];
  ends = [];
  const onEnd = ({ name }: FakeServer, reason: string): void => void ends.push(`${name}: ${reason}`);
  pool = new ServerPool({ idleMs: 1000, count: 2, memoryBytes: 100, total: 4 }, onEnd);
});
afterEach(() => {
  vi.useRealTimers();
});

const start = (name: string) => async (): Promise<FakeServer> => {
  const server = new FakeServer(name);
  started.push(server);
  return server;
};
const acquire = (name: string, alone = false) => pool.acquire(name, start(name), alone);
const use = async (name: string): Promise<FakeServer> => {
  const lease = acquire(name);
  const server = await lease.server;
  lease.release();
  return server;
};
interface Measurement {
  bytes?: number;
  cpuMs?: Readonly<Record<string, number>>;
  now?: number;
  during?: () => Promise<void>;
}
const measure = ({ bytes = 1, cpuMs = {}, now = 0, during }: Measurement): Promise<void> =>
  pool.review(async (servers) => {
    const usages = new Map(servers.map((server) => [server, { bytes, cpuMs: cpuMs[server.name] ?? 0 }]));
    await during?.();
    return usages;
  }, now);
const alive = (): string[] => started.filter(({ over }) => !over).map(({ name }) => name);

test("users of a key share a server, and it stays for the next one", async () => {
  const [one, two] = [acquire("a"), acquire("a")];
  expect([one.starts, two.starts]).toEqual([true, false]);
  expect(await one.server).toBe(await two.server);
  one.release();
  two.release();
  expect(await use("a")).toBe(await one.server);
  expect(alive()).toEqual(["a"]);
});

test("a server ends after its idle time, which a use begins anew", async () => {
  await use("a");
  vi.advanceTimersByTime(900);
  await use("a");
  vi.advanceTimersByTime(900);
  expect(alive()).toEqual(["a"]);
  vi.advanceTimersByTime(100);
  expect(alive()).toEqual([]);
  expect(pool.size).toBe(0);
});

test("a server that is used does not end, however long that takes", async () => {
  const lease = acquire("a");
  await lease.server;
  vi.advanceTimersByTime(10_000);
  expect(alive()).toEqual(["a"]);
});

test("the least recently used idle servers end beyond the count, and none in use", async () => {
  const lease = acquire("used");
  await lease.server;
  await use("a");
  await use("b");
  await use("a");
  await use("c");
  expect(alive()).toEqual(["used", "a", "c"]);
});

test("the least recently used idle servers end beyond the memory bound", async () => {
  await use("a");
  await use("b");
  await measure({ bytes: 60 });
  expect(alive()).toEqual(["b"]);
});

test("a server that computes while it is idle ends", async () => {
  await use("busy");
  await use("quiet");
  // Calls used this processor time.
  await measure({ cpuMs: { busy: 30_000, quiet: 30_000 }, now: 5_000 });
  expect(alive()).toEqual(["busy", "quiet"]);
  await measure({ cpuMs: { busy: 30_501, quiet: 30_500 }, now: 10_000 });
  expect(alive()).toEqual(["quiet"]);
  expect(ends).toEqual(["busy: busy"]);
});

test("a server's CPU time for calls between or during measurements does not end it", async () => {
  await use("a");
  await measure({ cpuMs: { a: 10 }, now: 5_000 });
  await use("a");
  await measure({ cpuMs: { a: 4_000 }, now: 10_000 });
  // The call runs during this measurement, which does not include its processor time.
  const during = async (): Promise<void> => void (await use("a"));
  await measure({ cpuMs: { a: 4_010 }, now: 15_000, during });
  await measure({ cpuMs: { a: 9_000 }, now: 20_000 });
  expect(alive()).toEqual(["a"]);
});

test("a server alone is never shared, and ends on release", async () => {
  const [one, two] = [acquire("a", true), acquire("a", true)];
  expect(await one.server).not.toBe(await two.server);
  one.release();
  one.release();
  two.release();
  expect(alive()).toEqual([]);
  expect(pool.size).toBe(0);
});

test("a server that ended by itself is replaced by the next use", async () => {
  const lease = acquire("a");
  const first = await lease.server;
  first.end();
  await turn();
  expect(await use("a")).not.toBe(first);
  lease.release();
  expect(alive()).toEqual(["a"]);
});

test("a failed start reaches all who wait for it, and the next use tries again", async () => {
  const failing = (): Promise<FakeServer> => Promise.reject(new Error("no"));
  const [one, two] = [pool.acquire("a", failing), pool.acquire("a", failing)];
  await expect(one.server).rejects.toThrow("no");
  await expect(two.server).rejects.toThrow("no");
  one.release();
  two.release();
  expect(pool.size).toBe(0);
  await use("a");
  expect(alive()).toEqual(["a"]);
});

test("a start that no user waits for any more is cancelled", async () => {
  let cancelled: AbortSignal | undefined;
  const { promise, resolve } = Promise.withResolvers<FakeServer>();
  const lease = pool.acquire("a", (signal) => {
    cancelled = signal;
    return promise;
  });
  lease.release();
  expect(cancelled?.aborted).toBe(true);
  expect(pool.size).toBe(0);
  // A start that ignores its signal is ended as soon as its server is ready.
  const late = new FakeServer("late");
  resolve(late);
  await turn();
  expect(late.over).toBe(true);
});

test("closing ends all servers, also those that start or are used", async () => {
  const lease = acquire("a");
  await lease.server;
  const starting = acquire("b");
  pool.close();
  await starting.server;
  await turn();
  expect(alive()).toEqual([]);
  lease.release();
  starting.release();
  expect(pool.size).toBe(0);
});

test("an idle server makes room for another one beyond the total, and a used one does not", async () => {
  const used = ["a", "b", "c"].map((name) => acquire(name));
  await use("idle");
  used.push(acquire("d", true));
  expect(alive()).toEqual(["a", "b", "c", "d"]);
  expect(() => acquire("e")).toThrow(expect.objectContaining({ code: "TooManyServers", retryable: true }));
  expect(acquire("a").starts).toBe(false);
  used[3]?.release();
  expect(acquire("e").starts).toBe(true);
});

test("the reason of each end is reported once", async () => {
  await use("idle");
  vi.advanceTimersByTime(1000);
  const alone = acquire("alone", true);
  await alone.server;
  alone.release();
  const crashed = acquire("crashed");
  (await crashed.server).end();
  await turn();
  crashed.release();
  for (const name of ["displaced", "x", "y"]) await use(name);
  pool.close();
  await turn();
  expect(ends).toEqual([
    "idle: idle",
    "alone: released",
    "crashed: exited",
    "displaced: displaced",
    "x: closed",
    "y: closed",
  ]);
});
