import { expect, test } from "vitest";
import { BurstOrder } from "./run-order.ts";

/** An order with a fake clock, and runs that end at once. */
class Burst {
  now = 1_000_000;
  readonly order = new BurstOrder(() => this.now);

  run(uid: string): number {
    this.order.began(uid);
    this.order.ended(uid);
    return this.now;
  }
}

test("the run of an XR that has its own writes to see begins at once if no other XR runs", () => {
  const burst = new Burst();
  const since = burst.run("a");
  expect(burst.order.postponedMs("a", since)).toBeUndefined();
  burst.run("a");
  expect(burst.order.postponedMs("a", since)).toBeUndefined();
});

test("while others run, it waits for longer and longer, at most five seconds in all", () => {
  const burst = new Burst();
  const since = burst.run("a");
  const waits: number[] = [];
  for (;;) {
    burst.run("another");
    const waitMs = burst.order.postponedMs("a", since);
    if (waitMs === undefined) break;
    waits.push(waitMs);
    burst.now += waitMs;
  }
  expect(waits).toEqual([200, 200, 400, 800, 1_600, 1_800]);
});

test("it begins when the others have been quiet for a while, and not while one of them still runs", () => {
  const burst = new Burst();
  const since = burst.run("a");
  burst.order.began("another");
  burst.now += 1_000;
  expect(burst.order.postponedMs("a", since)).toBe(1_000);
  burst.order.ended("another");
  burst.run("a");
  expect(burst.order.postponedMs("a", since)).toBe(1_000);
  burst.now += 200;
  expect(burst.order.postponedMs("a", since)).toBeUndefined();
});

test("a clock that goes back postpones nothing", () => {
  const burst = new Burst();
  const since = burst.run("a");
  burst.run("another");
  burst.now -= 60_000;
  burst.run("another");
  expect(burst.order.postponedMs("a", since)).toBeUndefined();
});
