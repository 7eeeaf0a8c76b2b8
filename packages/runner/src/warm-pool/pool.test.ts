import { expect, test } from "vitest";
import type { DiscardReason, WarmPoolLimits, WarmPoolPolicy } from "./limits.ts";
import { SandboxPool } from "./pool.ts";

interface FakeSpec {
  key: string;
  mayPreStart: boolean;
}
interface Fake {
  spec: FakeSpec;
  loaded: boolean;
  started: boolean;
}

/** A pool that creates sandboxes at once, with a clock that the test controls. */
function poolOf(policy: WarmPoolPolicy, limits: WarmPoolLimits = {}) {
  const world = {
    now: 0,
    idle: true,
    fails: false,
    discarded: [] as string[],
    made: 0,
    reserved: { count: 0, bytes: 0 },
  };
  const pool = new SandboxPool<FakeSpec, Fake>(
    {
      prepare: async (spec) => {
        if (world.fails) throw new Error("no room");
        world.made++;
        return { spec, loaded: false, started: false };
      },
      load: (sandbox) => {
        sandbox.loaded = true;
      },
      mayStart: (spec) => spec.mayPreStart,
      start: (sandbox) => {
        sandbox.started = true;
      },
      discard: (sandbox, reason: DiscardReason) => world.discarded.push(`${sandbox.spec.key} ${reason}`),
      reserved: () => world.reserved,
      isIdle: () => world.idle,
      now: () => world.now,
    },
    policy,
    limits,
  );
  return { pool, world };
}

const a: FakeSpec = { key: "a", mayPreStart: true };
const b: FakeSpec = { key: "b", mayPreStart: true };
const shy: FakeSpec = { key: "shy", mayPreStart: false };

const minute = 60_000;

/** Makes concurrent calls, then ends them. */
function call(pool: SandboxPool<FakeSpec, Fake>, spec: FakeSpec, times = 1): (Fake | undefined)[] {
  const taken = Array.from({ length: times }, () => pool.take(spec)?.sandbox);
  for (let time = 0; time < times; time++) pool.ended(spec);
  return taken;
}

const keys = (pool: SandboxPool<FakeSpec, Fake>): string[] => pool.waiting.map(({ spec }) => spec.key);

test("off: pre-starts nothing", async () => {
  const { pool } = poolOf("off");
  call(pool, a, 3);
  await pool.refill();
  expect(pool.waiting).toEqual([]);
});

test("adaptive: pre-starts as many as recently ran at once", async () => {
  const { pool } = poolOf("adaptive");
  call(pool, a, 3);
  call(pool, b);
  await pool.refill();
  expect(keys(pool).sort()).toEqual(["a", "a", "a", "b"]);
});

test("adaptive: keeps none for an image that was called long ago", async () => {
  const { pool, world } = poolOf("adaptive", { idleMs: minute });
  call(pool, a);
  await pool.refill();
  world.now = 2 * minute;
  pool.review([]);
  await pool.refill();
  expect(pool.waiting).toEqual([]);
  expect(world.discarded).toEqual(["a age"]);
});

test("N: pre-starts N of each image, even for consecutive calls", async () => {
  const { pool } = poolOf(2);
  call(pool, a);
  await pool.refill();
  expect(keys(pool)).toEqual(["a", "a"]);
});

test("makes none of a forgotten spec until its next call", async () => {
  const { pool } = poolOf(1);
  call(pool, a);
  call(pool, b);
  pool.forget(({ key }) => key === "a");
  await pool.refill();
  expect(keys(pool)).toEqual(["b"]);
  call(pool, a);
  await pool.refill();
  expect(keys(pool).sort()).toEqual(["a", "b"]);
});

test("gives each to one call, the oldest first", async () => {
  const { pool } = poolOf(2);
  call(pool, a);
  await pool.refill();
  const [first, second] = pool.waiting;
  expect(pool.take(a)).toEqual({ sandbox: first, started: true });
  expect(pool.take(a)?.sandbox).toBe(second);
  expect(pool.take(a)?.started).not.toBe(true);
});

test("gives no call a sandbox of other limits, network or image", async () => {
  const { pool } = poolOf("adaptive");
  call(pool, a);
  await pool.refill();
  expect(pool.take(b)).toBeUndefined();
});

test("never pre-starts a spec that forbids it", async () => {
  const { pool } = poolOf(4);
  call(pool, shy, 2);
  await pool.refill();
  expect(pool.waiting).toEqual([]);
});

test("makes none while the machine is busy, and stops when it becomes busy", async () => {
  const { pool, world } = poolOf(3);
  call(pool, a);
  world.idle = false;
  await pool.refill();
  expect(world.made).toBe(0);
  world.idle = true;
  const filling = pool.refill();
  world.idle = false;
  await filling;
  expect(world.made).toBe(1);
  // It was already prepared, but is not started: a call has priority.
  expect(pool.waiting).toEqual([]);
  expect(pool.take(a)?.started).toBe(false);
});

test("bounds their number over all images", async () => {
  const { pool } = poolOf("adaptive", { count: 2 });
  call(pool, a, 5);
  await pool.refill();
  expect(keys(pool)).toEqual(["a", "a"]);
});

test("displaces the least recently used, unless both are in use", async () => {
  const { pool, world } = poolOf("adaptive", { count: 1 });
  call(pool, a);
  await pool.refill();
  world.now = 1_000;
  call(pool, b);
  await pool.refill();
  expect(keys(pool)).toEqual(["a"]);
  world.now = 30_000;
  call(pool, b);
  await pool.refill();
  expect(keys(pool)).toEqual(["b"]);
  expect(world.discarded).toEqual(["a displaced"]);
});

test("discards an old one, and replaces it if it is still wanted", async () => {
  const { pool, world } = poolOf("adaptive", { idleMs: minute });
  call(pool, a);
  await pool.refill();
  const [old] = pool.waiting;
  world.now = 50_000;
  call(pool, b);
  call(pool, a);
  await pool.refill();
  // The call of `a` took it; the new sandbox has just been created.
  expect(pool.waiting).not.toContain(old);
  world.now = 55_000;
  pool.take(a);
  await pool.refill();
  world.now = 50_000 + minute;
  pool.review([]);
  await pool.refill();
  expect(world.discarded).toContain("b age");
  expect(keys(pool)).toContain("a");
});

test("gives no call one that is too old", async () => {
  const { pool, world } = poolOf(1, { idleMs: minute });
  call(pool, a);
  await pool.refill();
  world.now = minute;
  expect(pool.take(a)).toBeUndefined();
  expect(world.discarded).toEqual(["a age"]);
});

test("over the measured memory bound discards the least recently used, and makes no more", async () => {
  const { pool, world } = poolOf(2, { memoryBytes: 100 });
  call(pool, a);
  world.now = 1;
  call(pool, b);
  await pool.refill();
  expect(pool.waiting.length).toBe(4);
  pool.review(pool.waiting.map((sandbox) => ({ sandbox, bytes: 40, cpuMs: 0 })));
  await pool.refill();
  expect(keys(pool)).toEqual(["b", "b"]);
  expect(world.discarded).toEqual(["a memory", "a memory"]);
});

test("idle servers of functions count against both bounds", async () => {
  const { pool, world } = poolOf(3, { count: 3, memoryBytes: 100 });
  world.reserved = { count: 1, bytes: 0 };
  call(pool, a);
  await pool.refill();
  expect(pool.waiting.length).toBe(2);
  world.reserved = { count: 2, bytes: 0 };
  pool.review([]);
  expect(world.discarded).toEqual(["a displaced"]);
  world.reserved = { count: 2, bytes: 60 };
  pool.review(pool.waiting.map((sandbox) => ({ sandbox, bytes: 50, cpuMs: 0 })));
  expect(world.discarded).toEqual(["a displaced", "a memory"]);
});

test("discards one that uses the processor while it waits, and pauses its image", async () => {
  const { pool, world } = poolOf(1);
  call(pool, a);
  await pool.refill();
  const [sandbox] = pool.waiting as [Fake];
  world.now = 6_000;
  pool.review([{ sandbox, bytes: 1, cpuMs: 900 }]);
  expect(pool.waiting).toEqual([sandbox]);
  world.now = 8_000;
  pool.review([{ sandbox, bytes: 1, cpuMs: 1_900 }]);
  await pool.refill();
  expect(pool.waiting).toEqual([]);
  expect(world.discarded).toEqual(["a busy"]);
});

test("forgets one that ends by itself, and pauses its image", async () => {
  const { pool, world } = poolOf(1);
  call(pool, a);
  await pool.refill();
  pool.gone(pool.waiting[0] as Fake);
  await pool.refill();
  expect(pool.waiting).toEqual([]);
  world.now = minute;
  await pool.refill();
  expect(keys(pool)).toEqual(["a"]);
});

test("pauses an image whose sandbox could not be made, without failing calls", async () => {
  const { pool, world } = poolOf(1);
  call(pool, a);
  world.fails = true;
  await pool.refill();
  world.fails = false;
  await pool.refill();
  expect(pool.waiting).toEqual([]);
  world.now = minute;
  await pool.refill();
  expect(keys(pool)).toEqual(["a"]);
});

test("loads a runtime after an image's second call, even if nothing is pre-started", async () => {
  const { pool, world } = poolOf("off");
  call(pool, a);
  await pool.refill();
  expect(world.made).toBe(0);
  call(pool, a);
  await pool.refill();
  expect(world.made).toBe(1);
  expect(pool.take(a)).toMatchObject({ sandbox: { loaded: true, started: false }, started: false });
});

test("starts a loaded one only for a call", async () => {
  const { pool } = poolOf("adaptive");
  call(pool, a, 2);
  await pool.refill();
  const loaded = pool.all.filter((sandbox) => sandbox.loaded);
  expect(loaded).toHaveLength(1);
  pool.take(a);
  pool.take(a);
  await pool.refill();
  expect(pool.waiting.some((sandbox) => sandbox.loaded)).toBe(false);
  expect(pool.all).toContain(loaded[0]);
});

test("loads later one that was made while a call began", async () => {
  const { pool, world } = poolOf("off");
  call(pool, a, 2);
  const filling = pool.refill();
  world.idle = false;
  await filling;
  expect(pool.all).toMatchObject([{ loaded: false }]);
  world.idle = true;
  await pool.refill();
  expect(pool.all).toMatchObject([{ loaded: true }]);
  expect(world.made).toBe(1);
});

test("discards one whose runtime has ended, and pauses its image", async () => {
  const { pool, world } = poolOf("off");
  call(pool, a, 2);
  await pool.refill();
  pool.gone(pool.all[0] as Fake);
  expect(world.discarded).toEqual(["a ended"]);
  await pool.refill();
  expect(pool.all).toEqual([]);
  expect(pool.take(a)).toBeUndefined();
  world.now = minute;
  await pool.refill();
  expect(pool.all).toHaveLength(1);
});

test("prepares one for each of the most recently called images", async () => {
  const { pool, world } = poolOf("off");
  for (let image = 0; image < 20; image++) {
    world.now += 1_000;
    call(pool, { key: `image ${image}`, mayPreStart: true }, 2);
    await pool.refill();
  }
  pool.review([]);
  expect(pool.all.map(({ spec }) => spec.key)).toEqual([12, 13, 14, 15, 16, 17, 18, 19].map((n) => `image ${n}`));
});

test("close discards all, including those in the making", async () => {
  const { pool, world } = poolOf(2);
  call(pool, a, 2);
  await pool.refill();
  pool.take(a);
  const filling = pool.refill();
  pool.close();
  await filling;
  expect(pool.waiting).toEqual([]);
  expect(world.discarded.every((line) => line === "a closed")).toBe(true);
  expect(world.discarded.length).toBe(world.made - 1);
});
