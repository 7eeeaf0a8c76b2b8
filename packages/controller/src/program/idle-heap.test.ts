import { setFlagsFromString } from "node:v8";
import { YOUNG_SPACE_BYTES, youngSpaceBytes } from "@xfn/program/v8-tuning";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
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
  heap = 105;
  burst();
  expect(collect).toHaveBeenCalledTimes(1);
  heap = 115;
  burst();
  expect(collect).toHaveBeenCalledTimes(2);
});

test("the young generation has its size again after a collection", () => {
  vi.useFakeTimers();
  // V8's default, for the other tests of this process.
  onTestFinished(() => setFlagsFromString("--semi-space-growth-factor=2"));
  idleHeap().used();
  vi.advanceTimersByTime(60_000);
  expect(youngSpaceBytes()).toBeGreaterThanOrEqual(YOUNG_SPACE_BYTES);
});
