import { expect, test } from "vitest";
import { pollIntervalOf } from "../objects/requeue-after.ts";
import { pollInMs, turnInMs, withOwnPoll, withPoll } from "./poll-policy.ts";

const INTERVAL_MS = 60_000;
const SECOND_MS = 1_000;

test("polls of objects of the same second are spread over a fifth of the interval, in groups", () => {
  const times = Array.from({ length: 2_000 }, (_, index) => {
    const now = 123_456.7 + (index / 2_000) * SECOND_MS;
    return now + pollInMs(INTERVAL_MS, now, ((index * 7_919) % 2_000) / 2_000);
  });
  const first = Math.min(...times);
  const last = Math.max(...times);
  expect(first).toBeGreaterThanOrEqual(123_456.7 + 0.9 * INTERVAL_MS);
  expect(last).toBeLessThanOrEqual(124_456.7 + 1.11 * INTERVAL_MS);
  expect(last - first).toBeGreaterThan(0.19 * INTERVAL_MS);
  // Twelve seconds in steps of 600 ms.
  expect(new Set(times.map(Math.round)).size).toBeLessThan(25);
});

test("a poll is at most a tenth early or late", () => {
  for (const now of [0, 1, 599.9, 600, 1e9]) {
    expect(pollInMs(INTERVAL_MS, now, 0)).toBeGreaterThanOrEqual(0.9 * INTERVAL_MS - 1e-6);
    expect(pollInMs(INTERVAL_MS, now, 1)).toBeLessThanOrEqual(1.11 * INTERVAL_MS);
  }
});

const pollAt = (outcome: Parameters<typeof withPoll>[0], random: number): number =>
  withPoll(outcome, INTERVAL_MS, "a", 0, random).requeueAfterMs ?? Number.NaN;

test("polls of settled objects are sixty intervals apart, and their first ones are spread over these", () => {
  const first = Array.from({ length: 6_000 }, (_, index) => pollAt({ settled: "first" }, index / 6_000));
  for (let interval = 1; interval < 60; interval++) {
    const inIt = first.filter((ms) => ms >= interval * INTERVAL_MS && ms < (interval + 1) * INTERVAL_MS);
    expect(inIt.length).toBeGreaterThan(70);
    expect(inIt.length).toBeLessThan(130);
  }
  expect(pollAt({ settled: "again" }, 0)).toBe(54 * INTERVAL_MS);
  expect(pollAt({ settled: "again" }, 1)).toBeGreaterThanOrEqual(66 * INTERVAL_MS);
  expect(pollAt({ settled: "again" }, 1)).toBeLessThan(66.1 * INTERVAL_MS);
});

test("an object that is not settled is polled once in an interval at its own time, or when its reconciler asks for it", () => {
  let now = 123_456.7;
  const first = turnInMs(INTERVAL_MS, now, "a");
  expect(first).toBeGreaterThanOrEqual(INTERVAL_MS / 2);
  expect(first).toBeLessThan(1.5 * INTERVAL_MS);
  now += first;
  // After a late poll, the next one is at the usual time.
  for (const late of [0, 5, 10_000]) {
    const next = turnInMs(INTERVAL_MS, now + late, "a");
    expect(late + next).toBeCloseTo(INTERVAL_MS, 3);
    now += late + next;
  }
  // An event does not change the time of the poll.
  expect(turnInMs(INTERVAL_MS, now + 0.4 * INTERVAL_MS, "a")).toBeCloseTo(0.6 * INTERVAL_MS, 3);
  expect(pollAt({ requeueAfterMs: 5 }, 0.5)).toBe(5);
  expect(pollAt({ requeueAfterMs: 20 * INTERVAL_MS }, 0.5)).toBeLessThan(1.5 * INTERVAL_MS);
});

test("polls of objects that are not settled are spread over the interval from the first one on, in groups", () => {
  const due = Array.from({ length: 5_000 }, (_, index) => turnInMs(INTERVAL_MS, 1_000, `XApp.example.org/xr-${index}`));
  for (let part = 0; part < 10; part++) {
    const from = INTERVAL_MS * (0.5 + part / 10);
    const inPart = due.filter((ms) => ms >= from && ms < from + INTERVAL_MS / 10);
    expect(inPart.length).toBeGreaterThan(400);
    expect(inPart.length).toBeLessThan(600);
  }
  expect(new Set(due.map(Math.round)).size).toBeLessThanOrEqual(101);
});

test.each([
  [undefined, undefined],
  ["5m", 300_000],
  ["10ms", 1_000],
  ["-1m", undefined],
  ["0s", undefined],
  ["often", undefined],
])("an object with the poll interval %s is polled every %s ms", (text, expected) => {
  const annotations = text === undefined ? {} : { "crossplane.io/poll-interval": text };
  const metadata = { name: "x", uid: "x", resourceVersion: "1", annotations };
  expect(pollIntervalOf({ apiVersion: "v1", kind: "X", metadata })).toBe(expected);
});

test("an object with its own interval is polled even if it is settled, and earlier if its reconcile asks", () => {
  expect(withOwnPoll({ settled: "again" }, 60_000, 0)).toEqual({ requeueAfterMs: 54_000 });
  expect(withOwnPoll(undefined, 60_000, 1)).toEqual({ requeueAfterMs: 66_000 });
  expect(withOwnPoll({ requeueAfterMs: 5 }, 60_000, 1)).toEqual({ requeueAfterMs: 5 });
});
