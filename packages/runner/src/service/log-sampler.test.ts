import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LogSampler } from "./log-sampler.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("admits the first lines of each kind, and reports the number of the others once a period", () => {
  const omitted: unknown[][] = [];
  const sampler = new LogSampler({ linesPerPeriod: 2, periodMs: 1_000, onOmitted: (...args) => omitted.push(args) });
  const admitted = (kind: string, times: number): number =>
    Array.from({ length: times }, () => sampler.admits(kind)).filter(Boolean).length;
  expect([admitted("Unauthenticated", 1_000), admitted("QueueFull", 2)]).toEqual([2, 2]);
  expect(omitted).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(omitted).toEqual([["Unauthenticated", 998, 1_000]]);
  expect(admitted("Unauthenticated", 3)).toBe(2);
  vi.advanceTimersByTime(10_000);
  expect(omitted).toEqual([
    ["Unauthenticated", 998, 1_000],
    ["Unauthenticated", 1, 1_000],
  ]);
});

test("reports what it omitted when it ends", () => {
  const omitted: unknown[][] = [];
  const sampler = new LogSampler({ linesPerPeriod: 1, periodMs: 1_000, onOmitted: (...args) => omitted.push(args) });
  for (let line = 0; line < 3; line++) sampler.admits("QueueFull");
  sampler.flush();
  vi.advanceTimersByTime(10_000);
  expect(omitted).toEqual([["QueueFull", 2, 1_000]]);
});
