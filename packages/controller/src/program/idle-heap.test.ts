import { setFlagsFromString } from "node:v8";
import { resourceOf } from "@xfn/kubernetes";
import { YOUNG_SPACE_BYTES, youngSpaceBytes } from "@xfn/program/v8-tuning";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { idleHeap, isWork } from "./idle-heap.ts";

afterEach(() => {
  vi.useRealTimers();
});

const MB = 1024 * 1024;

/**
 * An idle heap whose collections leave `left` bytes, and its number of collections of each kind.
 *
 * @param step the bytes that a collection in steps frees, until what is used remains
 */
function idle(left: number, step = Infinity) {
  vi.useFakeTimers();
  let total = 0;
  let used = 0;
  const empty = (): void => void (total = left);
  const shrink = (): void => void (total = Math.max(used, total - step));
  const collect = { all: vi.fn<() => void>(empty), once: vi.fn<() => void>(empty), start: vi.fn<() => void>(shrink) };
  const memory = idleHeap(() => ({ total, used }), collect);
  return {
    grow: (to: number, live = to, ms = 60_000): void => {
      total = to;
      used = live;
      memory.used();
      vi.advanceTimersByTime(ms);
    },
    counts: () => [collect.all, collect.once, collect.start].map(({ mock }) => mock.calls.length),
  };
}

test("the garbage of a burst is collected at once, slow growth in one pass, and small changes are left to V8", () => {
  const { grow, counts } = idle(100);
  grow(200);
  expect(counts()).toEqual([1, 0, 0]);
  grow(105);
  expect(counts()).toEqual([1, 0, 0]);
  grow(115);
  expect(counts()).toEqual([1, 1, 0]);
  grow(130);
  expect(counts()).toEqual([2, 1, 0]);
});

test("a large heap is collected in steps, and again when it grows from what that left", () => {
  const { grow, counts } = idle(0);
  grow(400 * MB);
  expect(counts()).toEqual([0, 0, 1]);
  grow(200 * MB);
  expect(counts()).toEqual([0, 0, 1]);
  grow(230 * MB);
  expect(counts()).toEqual([0, 0, 2]);
});

test("a sparse heap is collected in steps until it is dense, but not before it is idle again", () => {
  const { grow, counts } = idle(0, 50 * MB);
  grow(400 * MB, 240 * MB);
  expect(counts()).toEqual([0, 0, 3]);
  grow(500 * MB, 240 * MB, 11_000);
  expect(counts()).toEqual([0, 0, 5]);
  grow(450 * MB, 240 * MB, 4_500);
  expect(counts()).toEqual([0, 0, 5]);
});

test("a request between two collections in steps does not end them", () => {
  const { grow, counts } = idle(0, 50 * MB);
  grow(500 * MB, 240 * MB, 11_000);
  expect(counts()).toEqual([0, 0, 2]);
  grow(400 * MB, 240 * MB);
  expect(counts()).toEqual([0, 0, 5]);
});

test("a heap that collections do not shrink is left to V8", () => {
  const { grow, counts } = idle(0, 0);
  grow(400 * MB, 100 * MB, 3_600_000);
  expect(counts()).toEqual([0, 0, 12]);
});

test("the young generation has its size again at the first use after a collection", () => {
  vi.useFakeTimers();
  // V8's default, for the other tests of this process.
  onTestFinished(() => setFlagsFromString("--semi-space-growth-factor=2"));
  const memory = idleHeap();
  memory.used();
  vi.advanceTimersByTime(60_000);
  memory.used();
  expect(youngSpaceBytes()).toBeGreaterThanOrEqual(YOUNG_SPACE_BYTES);
});

test("a leader that only renews its lease is idle", () => {
  expect(isWork({ resource: resourceOf({ group: "coordination.k8s.io", plural: "leases" }) })).toBe(false);
  expect(isWork({ resource: resourceOf({ group: "", plural: "secrets" }) })).toBe(true);
});
