import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processStartTime } from "@xfn/oci-rootfs";
import { beforeEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { isGone, nextGroupName, ownerOf } from "./group-name.ts";
import { removeGroups } from "./removal.ts";
import { sweepCgroups } from "./sweep.ts";

// Plain folders replace cgroups here. test/e2e/runner-limits.host.test.ts uses real groups of a killed runner.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const group = (name: string): string => {
  const path = join(root, "pids", name);
  mkdirSync(path, { recursive: true });
  return path;
};
const sweep = (): number => sweepCgroups({ root, self: "" });
const ownName = (): string => nextGroupName();
const nameOf = (pid: number, start: string, namespace = ownerOf(ownName())?.pidNamespace): string =>
  `xfn-${pid}-${start}-${namespace}-1`;

test("names of groups are unique and identify their maker", () => {
  expect(ownName()).not.toBe(ownName());
  expect(ownerOf(ownName())).toMatchObject({ pid: process.pid, startTime: processStartTime(process.pid) });
});

test("sweeps the groups of a killed runner, and keeps those of a living one", async () => {
  const other = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)"]);
  await once(other.stdout, "data");
  const pid = other.pid as number;
  const theirs = group(nameOf(pid, processStartTime(pid) as string));
  const ours = group(ownName());
  expect(sweep()).toBe(0);
  expect([theirs, ours].map((path) => existsSync(path))).toEqual([true, true]);
  other.kill("SIGKILL");
  await once(other, "exit");
  expect(sweep()).toBe(1);
  expect([theirs, ours].map((path) => existsSync(path))).toEqual([false, true]);
});

test("sweeps the groups of a process whose id was reused", () => {
  const before = group(nameOf(process.pid, "1"));
  expect(sweep()).toBe(1);
  expect(existsSync(before)).toBe(false);
});

test("keeps the groups of another pid namespace, whose processes are invisible here", () => {
  const theirs = group(nameOf(2 ** 22 + 1, "1", "4026531000"));
  expect(isGone(ownerOf(nameOf(2 ** 22 + 1, "1", "4026531000")) as never)).toBe(false);
  expect(sweep()).toBe(0);
  expect(existsSync(theirs)).toBe(true);
});

test.each(["xfn-supervisor", "xfn-1-2", "system.slice", "xfn-1-2-3-4-5"])("%s is not a call's group", (name) => {
  const path = group(name);
  expect(sweep()).toBe(0);
  expect(existsSync(path)).toBe(true);
});

test("removes a busy group once it is empty", async () => {
  const path = group("xfn-busy");
  writeFileSync(join(path, "holds"), "");
  removeGroups([path]);
  expect(existsSync(path)).toBe(true);
  rmSync(join(path, "holds"));
  await vi.waitFor(() => expect(existsSync(path)).toBe(false), { timeout: 10_000 });
});
