import { afterEach, expect, test, vi } from "vitest";
import { idleHeap } from "./idle-heap.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("the garbage of a burst is collected when it is over, that of small changes is left to V8", () => {
  vi.useFakeTimers();
  let heap = 200;
  const collect = vi.fn<() => void>(() => {
    heap = 100;
  });
  const memory = idleHeap(() => heap, collect);
  const burst = (): void => {
    memory.used();
    vi.advanceTimersByTime(60_000);
  };
  burst();
  expect(collect).toHaveBeenCalledTimes(1);
  heap = 120;
  burst();
  expect(collect).toHaveBeenCalledTimes(1);
  heap = 130;
  burst();
  expect(collect).toHaveBeenCalledTimes(2);
});
