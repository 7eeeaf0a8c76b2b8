import { expect, test, vi } from "vitest";
import { Readiness } from "./readiness.ts";

/** Long enough for a busy machine. */
const PATIENCE = { timeout: 30_000, interval: 1 };

function watched(check: () => Promise<void>): {
  changes: [boolean, string | undefined][];
  readiness: Readiness;
} {
  const changes: [boolean, string | undefined][] = [];
  const onChange = (ready: boolean, reason: string | undefined): void => void changes.push([ready, reason]);
  return { changes, readiness: new Readiness({ check, onChange, firstPauseMs: 1, longestPauseMs: 4 }) };
}

test("is ready once a check has succeeded", async () => {
  const barrier = Promise.withResolvers<void>();
  const { readiness, changes } = watched(() => barrier.promise);
  expect(readiness.ready).toBe(false);
  barrier.resolve();
  await vi.waitFor(() => expect(readiness.ready).toBe(true), PATIENCE);
  expect(changes).toEqual([[true, undefined]]);
});

test("repeats a failed check until one succeeds, and reports the reason once", async () => {
  let failures = 4;
  const check = async (): Promise<void> => {
    if (failures-- > 0) throw new Error("no crun");
  };
  const { readiness, changes } = watched(check);
  await vi.waitFor(() => expect(readiness.ready).toBe(true), PATIENCE);
  expect(changes).toEqual([
    [false, "no crun"],
    [true, undefined],
  ]);
});

test("rechecks on request, even if a check is running", async () => {
  const barriers: PromiseWithResolvers<void>[] = [];
  const { readiness, changes } = watched(() => {
    const barrier = Promise.withResolvers<void>();
    barriers.push(barrier);
    return barrier.promise;
  });
  readiness.recheck();
  readiness.recheck();
  expect(barriers).toHaveLength(1);
  barriers[0]?.resolve();
  await vi.waitFor(() => expect(barriers).toHaveLength(2), PATIENCE);
  barriers[1]?.reject(new Error("gone"));
  await vi.waitFor(() => expect(readiness.reason).toBe("gone"), PATIENCE);
  expect(changes).toEqual([
    [true, undefined],
    [false, "gone"],
  ]);
  readiness.stop("over");
});

test("rechecks once per pause, however often it is requested", async () => {
  vi.useFakeTimers();
  try {
    let checks = 0;
    const check = async (): Promise<void> => void checks++;
    const readiness = new Readiness({ check, onChange: () => {}, firstPauseMs: 1000, longestPauseMs: 1000 });
    await vi.advanceTimersByTimeAsync(1);
    for (let doubt = 0; doubt < 50; doubt++) {
      readiness.recheck();
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(checks).toBe(6);
  } finally {
    vi.useRealTimers();
  }
});

test("stays not ready once it is stopped", async () => {
  const barrier = Promise.withResolvers<void>();
  const { readiness } = watched(() => barrier.promise);
  readiness.stop("stopping");
  barrier.resolve();
  await barrier.promise;
  await Promise.resolve();
  readiness.recheck();
  expect(readiness).toMatchObject({ ready: false, reason: "stopping" });
});
