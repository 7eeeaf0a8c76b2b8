import { expect, test, vi } from "vitest";
import { ApiError } from "../client/api-error.ts";
import { type WorkQueueOptions, workQueue } from "./start-work-queue.ts";
import type { Outcome, WorkQueue } from "./work-queue.ts";

const BACKOFF = { firstMs: 5, longestMs: 20 };

interface Run {
  readonly key: string;
  readonly signal: AbortSignal;
  end(outcome?: Outcome): void;
  fail(error?: Error): void;
}

/** A queue whose reconciles end when the test says so. */
async function withQueue(
  options: Partial<WorkQueueOptions>,
  use: (queue: ReturnType<typeof workQueue>, runs: Run[]) => Promise<void>,
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

const keys = (runs: readonly Run[]): string[] => runs.map(({ key }) => key);
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a key that is added by each of its own reconciles has a burst of turns, then some a second; others have theirs", async () => {
  vi.useFakeTimers();
  try {
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
  } finally {
    vi.useRealTimers();
  }
});

test("a key that asks to be called again often is called, and waits no longer for it when it is added", async () => {
  vi.useFakeTimers();
  try {
    let turns = 0;
    const queue = workQueue({
      pace: { perSecond: 1, burst: 3 },
      reconcile: async () => (++turns < 100 ? { requeueAfterMs: 10 } : undefined),
    });
    queue.add("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(turns).toBe(100);
    queue.add("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(turns).toBe(101);
    await queue.stop();
  } finally {
    vi.useRealTimers();
  }
});

test("a key waits once, however often it is added, and no more run than may", async () => {
  await withQueue({ concurrency: 2 }, async (queue, runs) => {
    for (const key of ["a", "b", "c", "c", "d", "c"]) queue.add(key);
    expect(keys(runs)).toEqual(["a", "b"]);
    runs[1]?.end();
    await expect.poll(() => keys(runs)).toEqual(["a", "b", "c"]);
    runs[0]?.end();
    runs[2]?.end();
    await expect.poll(() => keys(runs)).toEqual(["a", "b", "c", "d"]);
    expect(queue.size).toBe(0);
  });
});

test("the same key never runs twice at once; what is added meanwhile runs after", async () => {
  await withQueue({}, async (queue, runs) => {
    queue.add("a");
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

test("a key that fails is tried later and later, and forgives at its first success", async () => {
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

test("pauses grow to their longest, and are not the same for all", async () => {
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
  // The last ones have the same full length.
  expect(new Set(pauses.slice(-3)).size).toBe(3);
});

test("a server that asks for time gets it", async () => {
  const pauses: number[] = [];
  await withQueue({ onFailure: ({ retryInMs }) => pauses.push(retryInMs) }, async (queue, runs) => {
    queue.add("a");
    runs[0]?.fail(new ApiError("Busy", "busy", { retryAfterMs: 30_000 }));
    await expect.poll(() => pauses).toEqual([30_000]);
  });
});

test("failing keys, be they many and slow to fail, leave half of the places to the others", async () => {
  await withQueue({ concurrency: 4, backoff: { firstMs: 1, longestMs: 1 } }, async (queue, runs) => {
    for (let at = 0; at < 20; at++) queue.add(`bad-${at}`);
    for (let failed = 0; failed < 20; failed++) {
      await expect.poll(() => keys(runs)).toContain(`bad-${failed}`);
      runs.find(({ key }) => key === `bad-${failed}`)?.fail();
    }
    // From now on they hang.
    await expect.poll(() => queue.size + queue.running).toBe(20);
    expect(queue.running).toBe(2);
    const good = Array.from({ length: 10 }, (_, at) => `good-${at}`);
    for (const key of good) queue.add(key);
    for (const key of good) {
      await expect.poll(() => keys(runs)).toContain(key);
      runs.find((run) => run.key === key)?.end();
    }
    await expect.poll(() => queue.running).toBe(2);
  });
});

test("failing keys have their turn also while others never cease to come", async () => {
  await withQueue({ concurrency: 1, backoff: { firstMs: 1, longestMs: 1 } }, async (queue, runs) => {
    queue.add("bad");
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

test("a key that fails and is added at once is not run in circles", async () => {
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
  await new Promise((resolve) => setTimeout(resolve, 50));
  await queue.stop();
  expect(runs).toBe(1);
});

test("a key that is mended and added is tried before its long pause is over", async () => {
  await withQueue({ backoff: { firstMs: 3_600_000, longestMs: 3_600_000 } }, async (queue, runs) => {
    queue.add("a");
    runs[0]?.fail();
    await settled();
    queue.add("a");
    await expect.poll(() => runs.length, { timeout: 10_000 }).toBe(2);
  });
});

test("of two times the earlier counts, and now comes before both", async () => {
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

test("what is forgotten does not run, and what ran of it comes to nothing", async () => {
  await withQueue({ concurrency: 1 }, async (queue, runs) => {
    queue.add("a");
    queue.add("b");
    queue.addAfter("c", 5);
    for (const key of ["a", "b", "c"]) queue.forget(key);
    runs[0]?.fail();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(keys(runs)).toEqual(["a"]);
    queue.add("a");
    expect(keys(runs)).toEqual(["a", "a"]);
  });
});

test("a stop waits for what runs, then aborts it, and nothing runs after", async () => {
  vi.useFakeTimers();
  try {
    await withQueue({}, async (queue, runs) => {
      queue.add("quick");
      queue.add("endless");
      queue.addAfter("later", 1);
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
  } finally {
    vi.useRealTimers();
  }
});

test("behind a gate a key has not begun: what is added meanwhile is no second reconcile", async () => {
  const doors: (() => void)[] = [];
  let left = 0;
  const gate = (): Promise<() => void> => new Promise((resolve) => doors.push(() => resolve(() => left++)));
  await withQueue({ gate }, async (queue, runs) => {
    queue.add("a");
    queue.add("b");
    queue.add("a");
    expect(doors).toHaveLength(2);
    expect(queue.size).toBe(2);
    queue.forget("b");
    for (const open of doors) open();
    await expect.poll(() => keys(runs)).toEqual(["a"]);
    // Who was forgotten gave its place back at once.
    expect(left).toBe(1);
    runs[0]?.fail();
    await expect.poll(() => left).toBe(2);
    await expect.poll(() => doors.length).toBe(3);
  });
});

test("a stop gives up waiting at the gate", async () => {
  const gate = (_key: string, signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  await withQueue({ gate }, async (queue, runs) => {
    queue.add("a");
    await queue.stop();
    expect(runs).toEqual([]);
  });
});

test("reconciles are told with their times", async () => {
  const ended: unknown[] = [];
  await withQueue({ onReconcile: (end) => ended.push(end) }, async (queue, runs) => {
    queue.add("a");
    runs[0]?.fail();
    await expect.poll(() => ended).toMatchObject([{ key: "a", failed: true }]);
  });
});
