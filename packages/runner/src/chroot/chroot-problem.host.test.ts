import { expect, test } from "vitest";
import { chrootProblem } from "./chroot-problem.ts";

const ROOT = "CapEff:\t000001ffffffffff\n";
const ALL_IDS = "         0          0 4294967295\n";
const X64 = { pid: 4_000_000, arch: "x64" };

function problem(status: string, uidMap = ALL_IDS, process = X64): string | undefined {
  return chrootProblem((name) => (name === "status" ? status : uidMap), process);
}

test("root can run functions in chroots", () => {
  expect(problem(ROOT)).toBeUndefined();
  // Docker's and containerd's default capabilities.
  expect(problem("CapEff:\t00000000a80425fb\n")).toBeUndefined();
});

test.each([
  ["CapEff:\t0000000000000000\n", /CAP_CHOWN.*CAP_SYS_CHROOT/],
  ["CapEff:\t000001fffffbffff\n", /lacks CAP_SYS_CHROOT,/],
  ["", /CAP_SETUID/],
])("a process without the capabilities cannot: %j", (status, reason) => {
  expect(problem(status)).toMatch(reason);
});

test("a user namespace without the ids, and another processor, are refused", () => {
  expect(problem(ROOT, "0 100000 65536\n")).toMatch(/user namespace/);
  expect(problem(ROOT, ALL_IDS, { ...X64, arch: "arm64" })).toMatch(/arm64/);
});
