import { expect, test } from "vitest";
import { hardLimitOf, MAX_PROCESSES, processRlimit, RUNTIME_TASKS } from "./process-rlimit.ts";

const counted = { countsProcesses: true };
const root = { isRoot: true, hardLimit: 2 ** 22 };
const ordinary = { isRoot: false, hardLimit: 2 ** 22 };

test("it is the bound itself where nothing else counts a function's processes", () => {
  expect(processRlimit(4, undefined, root)).toBe(4);
  expect(processRlimit(4, { countsProcesses: false }, root)).toBe(4);
});

test("it stays above what a cgroup lets a function have: only the cgroup tells that it was reached", () => {
  expect(processRlimit(4, counted, root)).toBeGreaterThanOrEqual(4 + RUNTIME_TASKS);
  expect(processRlimit(4, counted, ordinary)).toBeGreaterThan(100 * MAX_PROCESSES);
});

test("for an ordinary user, whose functions are counted together, it leaves room for the others", () => {
  expect(processRlimit(4, undefined, ordinary)).toBeGreaterThan(4 + MAX_PROCESSES);
});

test("it is never above the hard limit of who runs functions, which cannot be raised", () => {
  const user = { isRoot: false, hardLimit: 500 };
  expect([processRlimit(4, undefined, user), processRlimit(4, counted, user)]).toEqual([500, 500]);
});

test("the hard limit is read as the kernel shows it", () => {
  const head = "Limit                     Soft Limit           Hard Limit           Units     \n";
  expect(hardLimitOf(`${head}Max processes             127187               127190               processes \n`)).toBe(
    127190,
  );
  expect(hardLimitOf(`${head}Max processes             unlimited            unlimited            processes \n`)).toBe(
    2 ** 22,
  );
});
