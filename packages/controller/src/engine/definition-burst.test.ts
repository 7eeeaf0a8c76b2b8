import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DefinitionBurst } from "./definition-burst.ts";

let resumed: string[];
let burst: DefinitionBurst;

beforeEach(() => {
  vi.useFakeTimers();
  resumed = [];
  burst = new DefinitionBurst((key) => resumed.push(key));
});

afterEach(() => {
  burst.stop();
  vi.useRealTimers();
});

const MANY = Array.from({ length: 10 }, (_, index) => `many${index}`);

/** Ten definitions that wait for their CRDs. */
function wait(): void {
  for (const key of MANY) burst.report(key, true);
}

test("few definitions write their roles at once", () => {
  for (const key of MANY.slice(1)) burst.report(key, true);
  for (const key of MANY.slice(1)) {
    burst.report(key, false);
    expect(burst.deferralMs(key)).toBe(0);
  }
  vi.advanceTimersByTime(60_000);
  expect(resumed).toEqual([]);
});

test("roles of many wait until the last definition has its CRDs and no other follows", () => {
  wait();
  for (const key of MANY) {
    burst.report(key, false);
    expect(burst.deferralMs(key)).toBeGreaterThan(0);
  }
  vi.advanceTimersByTime(900);
  burst.report("late", true);
  burst.report("late", false);
  vi.advanceTimersByTime(900);
  expect(resumed).toEqual([]);
  vi.advanceTimersByTime(101);
  expect(resumed).toEqual(MANY);
  expect(MANY.map((key) => burst.deferralMs(key))).toEqual(MANY.map(() => 0));
});

test("roles wait for a bounded time while definitions keep coming, and are then written together", () => {
  for (let second = 0; second < 30; second++) {
    wait();
    expect(burst.deferralMs("a")).toBe(30_000 - second * 1_000);
    expect(burst.deferralMs(`late${second}`)).toBe(30_000 - second * 1_000);
    expect(resumed).toEqual([]);
    vi.advanceTimersByTime(1_000);
  }
  wait();
  expect(resumed).toHaveLength(31);
  expect(resumed.map((key) => burst.deferralMs(key))).toEqual(resumed.map(() => 0));
  // The next definitions wait for their own turn.
  expect(burst.deferralMs("next")).toBe(30_000);
});

test("definitions that are deleted, or whose CRDs are stuck, do not defer the roles of others for long", () => {
  wait();
  expect(burst.deferralMs("a")).toBeGreaterThan(0);
  for (const key of MANY) burst.forget(key);
  vi.advanceTimersByTime(1);
  expect(resumed).toEqual(["a"]);
  wait();
  expect(burst.deferralMs("b")).toBeGreaterThan(0);
  vi.advanceTimersByTime(15_001);
  expect(resumed).toEqual(["a", "b"]);
  expect(burst.deferralMs("b")).toBe(0);
});

test("a stopped burst resumes nothing", () => {
  wait();
  expect(burst.deferralMs("a")).toBeGreaterThan(0);
  burst.stop();
  vi.advanceTimersByTime(60_000);
  expect(resumed).toEqual([]);
});
