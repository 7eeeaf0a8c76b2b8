import { expect, test, vi } from "vitest";
import { ApiError } from "../client/api-error.ts";
import { type WorkQueueOptions, workQueue } from "./start-work-queue.ts";
import type { Outcome, WorkQueue } from "./work-queue.ts";
import { WorkerSlots } from "./worker-slots.ts";

const BACKOFF = { firstMs: 5, longestMs: 20 };

interface Run {
  readonly key: string;
  readonly signal: AbortSignal;
  end(outcome?: Outcome): void;
  fail(error?: Error): void;
}

/** Uses a queue whose reconciles end when the test ends them. */
async function withQueue(
  options: Partial<WorkQueueOptions>,
  use: (queue: WorkQueue, runs: Run[]) => Promise<void>,
): Promise<void> {
  const runs: Run[] = [];
  const queue = workQueue({
    backoff: BACKOFF,
    ...options,
    reconcile: (key, signal) =>
      new Promise((resolve, reject) => {
        runs.push({ key, signal, end: resolve, fail: (error = new Error("failed")) => reject(error) });
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  });
  try {
    await use(queue, runs);
  } finally {
    await queue.stop();
  }
}

async function withFakeTimers(use: () => Promise<void>): Promise<void> {
  // A fake turn of the event loop that follows another one is a millisecond later.
  vi.useFakeTimers();
  try {
    await use();
  } finally {
    vi.useRealTimers();
  }
}

const keys = (runs: readonly Run[]): string[] => runs.map(({ key }) => key);

/** Waits for more turns of the event loop than a test has keys: one reconcile starts in each. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
}

test("a key that its own reconcile adds again gets a burst of turns, then some a second", () =>
  withFakeTimers(async () => {
    const turns: Record<string, number> = {};
    const queue = workQueue({
      pace: { perSecond: 2, burst: 5 },
      reconcile: async (key) => {
        turns[key] = (turns[key] ?? 0) + 1;
        if (key === "busy") queue.add(key);
        return undefined;
      },
    });
    queue.add("busy");
    await vi.advanceTimersByTimeAsync(10);
    expect(turns).toEqual({ busy: 5 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(turns["busy"]).toBe(25);
    queue.add("other");
    await vi.advanceTimersByTimeAsync(1);
    expect(turns["other"]).toBe(1);
    await queue.stop();
  }));

test("frequent requeues are not limited, and do not delay a later addition", () =>
  withFakeTimers(async () => {
    let turns = 0;
    const queue = workQueue({
      pace: { perSecond: 1, burst: 3 },
      reconcile: async () => (++turns < 100 ? { requeueAfterMs: 10 } : undefined),
    });
    queue.add("a");
    await vi.advanceTimersByTimeAsync(1_100);
    expect(turns).toBe(100);
    queue.add("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(turns).toBe(101);
    await queue.stop();
  }));

test("a key waits once, however often it is added, and concurrency bounds the running keys", async () => {
  await withQueue({ concurrency: 2 }, async (queue, runs) => {
    for (const key of ["a", "b", "c", "c", "d", "c"]) queue.add(key);
    await settled();
    expect(keys(runs)).toEqual(["a", "b"]);
    runs[1]?.end();
    await expect.poll(() => keys(runs)).toEqual(["a", "b", "c"]);
    runs[0]?.end();
    runs[2]?.end();
    await expect.poll(() => keys(runs)).toEqual(["a", "b", "c", "d"]);
    expect(queue.size).toBe(0);
  });
});

test("the same key never runs twice at once, and runs again if it was added meanwhile", async () => {
  await withQueue({}, async (queue, runs) => {
    queue.add("a");
    queue.add("a");
    await settled();
    queue.add("a");
    queue.add("a");
    await settled();
    expect(keys(runs)).toEqual(["a"]);
    runs[0]?.end();
    await expect.poll(() => keys(runs)).toEqual(["a", "a"]);
    runs[1]?.end();
    await settled();
    expect(keys(runs)).toHaveLength(2);
  });
});

test("consecutive failures of a key are counted until it succeeds", async () => {
  const failures: number[] = [];
  await withQueue({ onFailure: ({ failures: count }) => failures.push(count) }, async (queue, runs) => {
    queue.add("a");
    for (let i = 0; i < 4; i++) {
      await expect.poll(() => runs.length).toBe(i + 1);
      if (i === 2) runs[i]?.end({ requeueAfterMs: 1 });
      else runs[i]?.fail();
    }
    await expect.poll(() => failures).toEqual([1, 2, 1]);
  });
});

test("pauses grow to the longest one, with jitter", async () => {
  const pauses: number[] = [];
  let runs = 0;
  const queue = workQueue({
    backoff: BACKOFF,
    onFailure: ({ retryInMs }) => pauses.push(retryInMs),
    reconcile: async () => {
      if (runs++ < 6) throw new Error("failed");
      return undefined;
    },
  });
  queue.add("a");
  await expect.poll(() => runs).toBe(7);
  await queue.stop();
  for (const [at, pause] of pauses.entries()) {
    const full = Math.min(5 * 2 ** at, 20);
    expect(pause).toBeGreaterThan(full / 2 - 0.001);
    expect(pause).toBeLessThanOrEqual(full);
  }
  // The last three have the same length before jitter.
  expect(new Set(pauses.slice(-3)).size).toBe(3);
});

test("a retry waits for as long as the server asked", async () => {
  const pauses: number[] = [];
  await withQueue({ onFailure: ({ retryInMs }) => pauses.push(retryInMs) }, async (queue, runs) => {
    queue.add("a");
    await settled();
    runs[0]?.fail(new ApiError("Busy", "busy", { retryAfterMs: 30_000 }));
    await expect.poll(() => pauses).toEqual([30_000]);
  });
});

test("slow keys leave most slots to the others", () =>
  withFakeTimers(async () => {
    await withQueue({ concurrency: 8, pace: { perSecond: 1_000, burst: 1_000 } }, async (queue, runs) => {
      const slow = Array.from({ length: 8 }, (_, at) => `slow-${at}`);
      for (const key of slow) queue.add(key);
      await vi.advanceTimersByTimeAsync(4_000);
      for (const run of runs.splice(0)) run.fail();
      // From now on they hang.
      await vi.advanceTimersByTimeAsync(60_000);
      expect(queue).toMatchObject({ running: 1, size: 7 });
      const quick = Array.from({ length: 10 }, (_, at) => `quick-${at}`);
      for (const key of quick) queue.add(key);
      for (const key of quick) {
        await vi.advanceTimersByTimeAsync(1);
        runs.find((run) => run.key === key)?.end();
      }
      await vi.advanceTimersByTimeAsync(1);
      expect(keys(runs)).toEqual(expect.arrayContaining(quick));
      expect(queue).toMatchObject({ running: 1, size: 7 });
      const stopped = queue.stop();
      await vi.advanceTimersByTimeAsync(0);
      await stopped;
    });
  }));

test("failing keys get a turn while normal keys keep coming", async () => {
  await withQueue({ concurrency: 1, backoff: { firstMs: 1, longestMs: 1 } }, async (queue, runs) => {
    queue.add("bad");
    await settled();
    runs[0]?.fail();
    for (let at = 0; at < 100; at++) queue.add(`good-${at}`);
    for (let at = 1; keys(runs).lastIndexOf("bad") === 0; at++) {
      expect(at).toBeLessThan(90);
      await expect.poll(() => runs.length).toBeGreaterThan(at);
      await new Promise((resolve) => setTimeout(resolve, 1));
      runs[at]?.end();
    }
  });
});

test("a key that fails and is added at once waits before its retry", () =>
  withFakeTimers(async () => {
    let runs = 0;
    const queue: WorkQueue = workQueue({
      backoff: { firstMs: 200, longestMs: 200 },
      reconcile: async (key) => {
        runs++;
        setImmediate(() => queue.add(key));
        throw new Error("failed");
      },
    });
    queue.add("a");
    await vi.advanceTimersByTimeAsync(50);
    expect(runs).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(runs).toBeGreaterThan(1);
    await queue.stop();
  }));

test("an addition ends a long pause early", async () => {
  await withQueue({ backoff: { firstMs: 3_600_000, longestMs: 3_600_000 } }, async (queue, runs) => {
    queue.add("a");
    await settled();
    runs[0]?.fail();
    await settled();
    queue.add("a");
    await expect.poll(() => runs.length).toBe(2);
  });
});

test("the earlier of two times applies, and an immediate addition precedes both", async () => {
  await withQueue({}, async (queue, runs) => {
    queue.addAfter("a", 3_600_000);
    queue.addAfter("a", 5);
    queue.addAfter("a", 3_600_000);
    await expect.poll(() => keys(runs)).toEqual(["a"]);
    runs[0]?.end();
    queue.addAfter("b", 3_600_000);
    queue.add("b");
    await expect.poll(() => keys(runs)).toEqual(["a", "b"]);
  });
});

test("a forgotten key does not run, and the result of its running reconcile is ignored", async () => {
  await withQueue({ concurrency: 1 }, async (queue, runs) => {
    queue.add("a");
    queue.add("b");
    queue.addAfter("c", 5);
    await settled();
    for (const key of ["a", "b", "c"]) queue.forget(key);
    runs[0]?.fail();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(keys(runs)).toEqual(["a"]);
    queue.add("a");
    await settled();
    expect(keys(runs)).toEqual(["a", "a"]);
  });
});

test("a stop waits for running reconciles, then aborts them, and no reconcile starts afterwards", () =>
  withFakeTimers(async () => {
    await withQueue({}, async (queue, runs) => {
      queue.add("quick");
      queue.add("endless");
      queue.addAfter("later", 10);
      await vi.advanceTimersByTimeAsync(1);
      const stop = queue.stop(50);
      runs[0]?.end();
      await vi.advanceTimersByTimeAsync(49);
      expect(runs[1]?.signal.aborted).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(runs[1]?.signal.aborted).toBe(true);
      await stop;
      queue.add("after");
      await vi.advanceTimersByTimeAsync(1_000);
      expect(keys(runs)).toEqual(["quick", "endless"]);
    });
  }));

test("queues share slots, and a key that waits for a slot is added once", async () => {
  const slots = new WorkerSlots(1);
  await withQueue({ slots, source: "one" }, async (one, runsOfOne) => {
    await withQueue({ slots, source: "two" }, async (two, runsOfTwo) => {
      for (const key of ["a", "b", "b", "b"]) one.add(key);
      two.add("c");
      await settled();
      expect(keys(runsOfOne)).toEqual(["a"]);
      expect(one).toMatchObject({ running: 1, size: 1 });
      expect(two).toMatchObject({ running: 0, size: 1 });
      runsOfOne[0]?.end();
      await expect.poll(() => keys(runsOfTwo)).toEqual(["c"]);
      runsOfTwo[0]?.end();
      await expect.poll(() => keys(runsOfOne)).toEqual(["a", "b"]);
      runsOfOne[1]?.end();
      await expect.poll(() => one.running).toBe(0);
      expect(slots).toMatchObject({ running: 0, waiting: 0 });
    });
  });
});

test("a stopped or forgotten key gives up its wait for a slot", async () => {
  const slots = new WorkerSlots(1);
  await withQueue({ slots }, async (busy, runs) => {
    busy.add("a");
    await settled();
    await withQueue({ slots }, async (queue, runsOfQueue) => {
      queue.add("b");
      queue.add("c");
      queue.forget("b");
      expect(slots.waiting).toBe(1);
      await queue.stop();
      expect(slots.waiting).toBe(0);
      runs[0]?.end();
      await settled();
      expect(runsOfQueue).toEqual([]);
    });
  });
});

test("ended reconciles are reported with their times", async () => {
  const ended: unknown[] = [];
  await withQueue({ onReconcile: (end) => ended.push(end) }, async (queue, runs) => {
    queue.add("a");
    await settled();
    runs[0]?.fail();
    await expect.poll(() => ended).toMatchObject([{ key: "a", failed: true }]);
  });
});

test("a failure that asks for a pause gets it, from any server, within a bound", () =>
  withFakeTimers(async () => {
    const retries: number[] = [];
    const asked = [12_000, 3_600_000, -1, "soon"];
    const queue = workQueue({
      backoff: { firstMs: 100, longestMs: 100 },
      reconcile: async () => {
        throw Object.assign(new Error("full"), { retryAfterMs: asked[retries.length] });
      },
      onFailure: ({ retryInMs }) => retries.push(retryInMs),
    });
    queue.add("a");
    await vi.advanceTimersByTimeAsync(11_000);
    expect(retries).toEqual([12_000]);
    await vi.advanceTimersByTimeAsync(330_000);
    expect(retries.slice(0, 2)).toEqual([12_000, 300_000]);
    expect(retries[2]).toBeLessThanOrEqual(100);
    expect(retries[3]).toBeLessThanOrEqual(100);
    await queue.stop();
  }));
