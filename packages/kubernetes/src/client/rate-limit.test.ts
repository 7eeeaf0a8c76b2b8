import { expect, test, vi } from "vitest";
import { limiter } from "./rate-limit.ts";

test("a burst goes at once, and what follows at its rate, in order", async () => {
  vi.useFakeTimers();
  try {
    const limit = limiter({ perSecond: 10, burst: 3 });
    const went: number[] = [];
    for (let at = 0; at < 6; at++) {
      const wait = limit();
      if (wait === undefined) went.push(at);
      else void wait.then(() => went.push(at));
    }
    expect(went).toEqual([0, 1, 2]);
    await vi.advanceTimersByTimeAsync(101);
    expect(went).toEqual([0, 1, 2, 3]);
    await vi.advanceTimersByTimeAsync(200);
    expect(went).toEqual([0, 1, 2, 3, 4, 5]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect([limit(), limit(), limit()]).toEqual([undefined, undefined, undefined]);
    expect(limit()).toBeDefined();
  } finally {
    vi.useRealTimers();
  }
});

test("a wait can be given up", async () => {
  const limit = limiter({ perSecond: 0.001, burst: 1 });
  expect(limit()).toBeUndefined();
  const reason = new Error("enough");
  await expect(limit(AbortSignal.abort(reason))).rejects.toBe(reason);
});
