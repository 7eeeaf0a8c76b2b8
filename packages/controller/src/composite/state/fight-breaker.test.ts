import { expect, test } from "vitest";
import type { BreakerLimits } from "../../objects/context.ts";
import { BREAKER, FightBreaker } from "./fight-breaker.ts";

/** Writes these intents in turn, one a second. @returns the delay of each write */
function waits(intents: readonly string[], rounds: number, limits?: BreakerLimits): number[] {
  let now = 0;
  const breaker = new FightBreaker(() => now, limits);
  const found: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const intent of intents) {
      found.push(breaker.waitMs("a", intent));
      breaker.wrote("a", intent);
      now += 1_000;
    }
  }
  return found;
}

test("functions that alternate between a few intents are slowed", () => {
  expect(waits(["x", "y", "z"], 6).slice(-3)).toEqual([29_000, 29_000, 29_000]);
});

test("only the last intents are remembered, so that the memory of an object is bounded", () => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `intent-${index}`);
  expect(waits(many(16), 3).at(-1)).toBe(29_000);
  expect(new Set(waits(many(17), 10))).toEqual(new Set([0]));
});

test("a burst, a refill rate and a cooldown can be set", () => {
  const slowed = (limits: Partial<BreakerLimits>, rounds = 12): number =>
    waits(["x"], rounds, { ...BREAKER, ...limits }).findIndex((wait) => wait > 0);
  expect(slowed({})).toBe(11);
  expect(slowed({ burst: 3 })).toBe(4);
  // One write a second is repeated.
  expect(slowed({ burst: 3, refillRate: 1 })).toBe(-1);
  expect(slowed({ burst: 3, cooldownMs: 1_000 })).toBe(-1);
});
