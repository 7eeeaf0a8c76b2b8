import { expect, test } from "vitest";
import { hardLimitOf, MAX_PROCESSES, processRlimit, RUNTIME_TASKS } from "./process-rlimit.ts";

const counted = { countsProcesses: true };
const root = { isRoot: true, hardLimit: 2 ** 22 };
const ordinary = { isRoot: false, hardLimit: 2 ** 22 };

test("is the limit if no cgroup counts a function's processes", () => {
  expect(processRlimit(4, undefined, root)).toBe(4);
  expect(processRlimit(4, { countsProcesses: false }, root)).toBe(4);
});

test("exceeds the cgroup's limit, because only the cgroup records a hit", () => {
  expect(processRlimit(4, counted, root)).toBeGreaterThanOrEqual(4 + RUNTIME_TASKS);
  expect(processRlimit(4, counted, ordinary)).toBeGreaterThan(100 * MAX_PROCESSES);
});

test("leaves an ordinary user room for other functions, which the kernel counts together", () => {
  expect(processRlimit(4, undefined, ordinary)).toBeGreaterThan(4 + MAX_PROCESSES);
});

test("never exceeds the user's hard limit", () => {
  const user = { isRoot: false, hardLimit: 500 };
  expect([processRlimit(4, undefined, user), processRlimit(4, counted, user)]).toEqual([500, 500]);
});

test("parses the hard limit of /proc/PID/limits", () => {
  const head = "Limit                     Soft Limit           Hard Limit           Units     \n";
  expect(hardLimitOf(`${head}Max processes             127187               127190               processes \n`)).toBe(
    127190,
  );
  expect(hardLimitOf(`${head}Max processes             unlimited            unlimited            processes \n`)).toBe(
    2 ** 22,
  );
});
