import { totalmem } from "node:os";
import { expect, test } from "vitest";
import { boundOf, dataRlimit } from "./data-rlimit.ts";

test("is three quarters of the memory, and no more than the hard limit", () => {
  expect(boundOf(1001, 5000)).toBe(750);
  expect(boundOf(1000, 10)).toBe(10);
});

test("is less than this machine's memory", () => {
  expect(dataRlimit()).toBeGreaterThan(0);
  expect(dataRlimit()).toBeLessThan(totalmem());
});
