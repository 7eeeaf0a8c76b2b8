import { expect, test } from "vitest";
import { cpuQuota } from "./cpu-quota.ts";

test.each([
  [0.25, 25_000],
  [1.235, 123_500],
  [0.07, 7_000],
  [256, 25_600_000],
  [0.001, 1_000],
  [0.0123456, 1_235],
])("%d cores are %d microseconds, rounded up, and at least the kernel's minimum", (cpus, quota) => {
  expect(cpuQuota(cpus)).toBe(quota);
});
