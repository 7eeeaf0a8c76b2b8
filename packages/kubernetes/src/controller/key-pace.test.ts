import { expect, test } from "vitest";
import { keyPace } from "./key-pace.ts";

test("each key has its own burst, and has it again after a pause", () => {
  let now = 0;
  const pace = keyPace({ perSecond: 10, burst: 3 }, () => now);
  const turnsAtOnce = (key: string): number => {
    let turns = 0;
    for (; pace.waitOf(key) <= 0; turns++) pace.began(key);
    return turns;
  };
  expect([turnsAtOnce("a"), turnsAtOnce("b")]).toEqual([3, 3]);
  expect(pace.waitOf("a")).toBe(100);
  now = 100;
  expect(turnsAtOnce("a")).toBe(1);
  now = 1_000;
  expect(turnsAtOnce("a")).toBe(3);
  pace.forget("a");
  expect(turnsAtOnce("a")).toBe(3);
});

test("whoever had more turns than it may waits for one share, not for all of them", () => {
  const pace = keyPace({ perSecond: 10, burst: 3 }, () => 0);
  for (let turn = 0; turn < 1_000; turn++) pace.began("a");
  expect(pace.waitOf("a")).toBe(100);
});
