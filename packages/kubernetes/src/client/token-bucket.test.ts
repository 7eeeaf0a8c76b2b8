import { expect, test } from "vitest";
import { TokenBucket } from "./token-bucket.ts";

const RATE = { perSecond: 10, burst: 3 };

test("reservations start with a burst and continue at the rate", () => {
  const bucket = new TokenBucket(RATE);
  const waits = (count: number, now: number): number[] =>
    Array.from({ length: count }, () => Math.max(0, bucket.reserve(now)));
  expect(waits(6, 0)).toEqual([0, 0, 0, 100, 200, 300]);
  expect(waits(1, 300)).toEqual([100]);
  expect(waits(4, 10_000)).toEqual([0, 0, 0, 100]);
});

test("a bucket refills after a pause", () => {
  const bucket = new TokenBucket(RATE);
  const takeAll = (now: number): number => {
    let taken = 0;
    for (; bucket.waitMs(now) <= 0; taken++) bucket.take(now);
    return taken;
  };
  expect(takeAll(0)).toBe(3);
  expect(bucket.waitMs(0)).toBe(100);
  expect(takeAll(100)).toBe(1);
  expect(bucket.isFull(399)).toBe(false);
  expect(bucket.isFull(400)).toBe(true);
  expect(takeAll(1_000)).toBe(3);
});

test("taking from an empty bucket does not delay the next token", () => {
  const bucket = new TokenBucket(RATE);
  for (let turn = 0; turn < 1_000; turn++) bucket.take(0);
  expect(bucket.waitMs(0)).toBe(100);
});
