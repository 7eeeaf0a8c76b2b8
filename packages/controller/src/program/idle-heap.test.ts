import { setFlagsFromString } from "node:v8";
import { resourceOf } from "@xfn/kubernetes";
import { YOUNG_SPACE_BYTES, youngSpaceBytes } from "@xfn/program/v8-tuning";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { idleHeap, isWork } from "./idle-heap.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("the garbage of a burst is collected at once, slow growth in one pass, and small changes are left to V8", () => {
  vi.useFakeTimers();
  let heap = 200;
  const all = vi.fn<() => void>(() => void (heap = 100));
  const once = vi.fn<() => void>(() => void (heap = 100));
  const memory = idleHeap(() => heap, { all, once });
  const grow = (to: number): void => {
    heap = to;
    memory.used();
    vi.advanceTimersByTime(60_000);
  };
  grow(200);
  expect([all, once].map(({ mock }) => mock.calls.length)).toEqual([1, 0]);
  grow(105);
  expect([all, once].map(({ mock }) => mock.calls.length)).toEqual([1, 0]);
  grow(115);
  expect([all, once].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  grow(130);
  expect([all, once].map(({ mock }) => mock.calls.length)).toEqual([2, 1]);
});

test("the young generation has its size again after a collection", () => {
  vi.useFakeTimers();
  // V8's default, for the other tests of this process.
  onTestFinished(() => setFlagsFromString("--semi-space-growth-factor=2"));
  idleHeap().used();
  vi.advanceTimersByTime(60_000);
  expect(youngSpaceBytes()).toBeGreaterThanOrEqual(YOUNG_SPACE_BYTES);
});

test("a leader that only renews its lease is idle", () => {
  expect(isWork({ resource: resourceOf({ group: "coordination.k8s.io", plural: "leases" }) })).toBe(false);
  expect(isWork({ resource: resourceOf({ group: "", plural: "secrets" }) })).toBe(true);
});
