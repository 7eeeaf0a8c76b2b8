import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { giveBackWhenIdle } from "./idle-memory.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("once nobody has called for a while, and once only, it collects", () => {
  vi.useFakeTimers();
  const collect = vi.fn<() => void>();
  const memory = giveBackWhenIdle(1_000, collect);
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

test("what it collects is what nobody holds", async () => {
  const memory = giveBackWhenIdle(50);
  const garbage = new WeakRef({ bytes: Array.from({ length: 10_000 }, () => 0) });
  memory.used();
  await sleep(500);
  // The assertion would hold it.
  expect(garbage.deref() === undefined).toBe(true);
});
