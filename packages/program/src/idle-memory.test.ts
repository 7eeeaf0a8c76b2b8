import { afterEach, expect, test, vi } from "vitest";
import { IdleMemory } from "./idle-memory.ts";
import { collectAll } from "./v8-tuning.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("collects once after each idle time", () => {
  vi.useFakeTimers();
  const collect = vi.fn<() => void>();
  const memory = new IdleMemory(1_000, collect);
  for (let call = 0; call < 10; call++) {
    memory.used();
    vi.advanceTimersByTime(900);
  }
  expect(collect).not.toHaveBeenCalled();
  vi.advanceTimersByTime(100_000);
  expect(collect).toHaveBeenCalledTimes(1);
  memory.used();
  vi.advanceTimersByTime(1_000);
  expect(collect).toHaveBeenCalledTimes(2);
  memory.used();
  memory.stop();
  vi.advanceTimersByTime(100_000);
  expect(collect).toHaveBeenCalledTimes(2);
});

test("collects unreferenced objects", async () => {
  const memory = new IdleMemory(50, collectAll);
  const garbage = new WeakRef({ bytes: Array.from({ length: 10_000 }, () => 0) });
  memory.used();
  // An assertion on the object itself would retain it, and a look at it does so until the next turn of the event loop.
  await expect.poll(() => (memory.used(), garbage.deref() === undefined), { interval: 500 }).toBe(true);
  memory.stop();
});
