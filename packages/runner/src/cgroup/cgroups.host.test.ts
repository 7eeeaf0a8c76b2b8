import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cgroupFiles } from "../../testing/cgroup-files.ts";
import { createLimitCgroup } from "./cgroups.ts";
import { LimitUnavailableError } from "./files.ts";
import { type CgroupHost, type LimitCgroup, type Limits } from "./limit-cgroup.ts";

function host(root: string, self: string): CgroupHost {
  return { root, self, isRoot: false, ownProcesses: () => [42] };
}

function create(name: string, limits: Limits, where: CgroupHost): LimitCgroup {
  const group = createLimitCgroup(name, limits, where);
  if (group === undefined) throw new Error("no group was made");
  return group;
}

const v2 = { "cgroup.controllers": "cpu memory pids", "cgroup.subtree_control": "cpu memory pids" };

test("version 2: writes limits to a group below the runner's", () => {
  const root = cgroupFiles({ ...v2, "a/cgroup.controllers": "cpu memory", "a/cgroup.subtree_control": "cpu memory" });
  const group = create("call", { memoryBytes: 1000, cpus: 0.25 }, host(root, "0::/a\n"));
  expect(group.procs).toEqual(["a/call/cgroup.procs"]);
  expect(readFileSync(join(root, "a/call/memory.max"), "utf8")).toBe("1000");
  expect(readFileSync(join(root, "a/call/cpu.max"), "utf8")).toBe("25000 100000");
});

test("version 2: reports a kill for lack of memory by the group's events", () => {
  const root = cgroupFiles(v2);
  const group = create("call", { memoryBytes: 1000 }, host(root, "0::/\n"));
  expect(group.hits()).toEqual({ outOfMemory: false, tooManyProcesses: false });
  writeFileSync(join(root, "call/memory.events"), "low 0\noom 1\noom_kill 1\n");
  expect(group.hits().outOfMemory).toBe(true);
});

test("version 2: names a controller that the group lacks", () => {
  const root = cgroupFiles({ ...v2, "a/cgroup.controllers": "cpu", "a/cgroup.subtree_control": "" });
  const attempt = (): unknown => create("call", { memoryBytes: 1000 }, host(root, "0::/a\n"));
  expect(attempt).toThrow(LimitUnavailableError);
  expect(attempt).toThrow(/memory/);
  expect(existsSync(join(root, "a/call"))).toBe(false);
});

test("version 2: makes groups at the top if root's own group lacks a controller", () => {
  const root = cgroupFiles({ ...v2, "a/cgroup.controllers": "", "a/cgroup.subtree_control": "" });
  const group = create("call", { memoryBytes: 1000 }, { ...host(root, "0::/a\n"), isRoot: true });
  expect(group.procs).toEqual(["call/cgroup.procs"]);
});

test("version 2: makes groups next to the supervisor of an earlier start", () => {
  const root = cgroupFiles({ ...v2, "a/cgroup.subtree_control": "memory", "a/xfn-supervisor/cgroup.procs": "42" });
  const group = create("call", { memoryBytes: 1000 }, host(root, "0::/a/xfn-supervisor\n"));
  expect(group.procs).toEqual(["a/call/cgroup.procs"]);
});

test("version 1: makes a group per controller, below the runner's if it is visible", () => {
  const root = cgroupFiles({ "memory/own/tasks": "", "cpu/tasks": "" });
  const group = create("call", { memoryBytes: 4096, cpus: 2 }, host(root, "4:memory:/own\n1:cpu,cpuacct:/gone\n"));
  expect(group.procs).toEqual(["memory/own/call/cgroup.procs", "cpu/call/cgroup.procs"]);
  expect(readFileSync(join(root, "memory/own/call/memory.limit_in_bytes"), "utf8")).toBe("4096");
  expect(readFileSync(join(root, "cpu/call/cpu.cfs_quota_us"), "utf8")).toBe("200000");
});

test("version 1: rejects a missing controller, and removes groups already made", () => {
  const root = cgroupFiles({ "memory/tasks": "" });
  expect(() => createLimitCgroup("call", { cpus: 1 }, host(root, ""))).toThrow(LimitUnavailableError);
  expect(existsSync(join(root, "cpu"))).toBe(false);
});

test("version 2: counts processes in a group that exists anyway, and reports a refused one", () => {
  const root = cgroupFiles({
    ...v2,
    "a/cgroup.controllers": "cpu memory pids",
    "a/cgroup.subtree_control": "memory pids",
  });
  const group = create("call", { memoryBytes: 1000, pids: 20 }, host(root, "0::/a\n"));
  expect(readFileSync(join(root, "a/call/pids.max"), "utf8")).toBe("20");
  expect(group.countsProcesses).toBe(true);
  expect(group.hits().tooManyProcesses).toBe(false);
  writeFileSync(join(root, "a/call/pids.events"), "max 3\n");
  expect(group.hits().tooManyProcesses).toBe(true);
});

test("version 2: kills all processes of the group at once", () => {
  const root = cgroupFiles(v2);
  const group = create("call", { memoryBytes: 1000 }, host(root, "0::/\n"));
  writeFileSync(join(root, "call/cgroup.kill"), "");
  group.kill();
  expect(readFileSync(join(root, "call/cgroup.kill"), "utf8")).toBe("1");
});

test("version 2: makes no group for processes alone, because joining one is slow", () => {
  const root = cgroupFiles({ ...v2, "cgroup.procs": "" });
  expect(createLimitCgroup("call", { pids: 20 }, host(root, "0::/\n"))).toBeUndefined();
  expect(existsSync(join(root, "call"))).toBe(false);
});

test("version 1: counts processes in a separate group, and reports a refused one", () => {
  const root = cgroupFiles({ "pids/tasks": "" });
  const group = create("call", { pids: 20 }, host(root, ""));
  expect(group.procs).toEqual(["pids/call/cgroup.procs"]);
  expect(readFileSync(join(root, "pids/call/pids.max"), "utf8")).toBe("20");
  writeFileSync(join(root, "pids/call/pids.events"), "max 1\n");
  expect(group.hits()).toEqual({ outOfMemory: false, tooManyProcesses: true });
});

test("version 1: accepts a call whose processes cannot be counted", () => {
  const root = cgroupFiles({ "memory/tasks": "" });
  expect(createLimitCgroup("call", { pids: 20 }, host(root, ""))).toBeUndefined();
  const group = create("call", { memoryBytes: 4096, pids: 20 }, host(root, ""));
  expect(group.procs).toEqual(["memory/call/cgroup.procs"]);
  expect(group.countsProcesses).toBe(false);
});

test.each([
  ["2", { ...v2, "a/cgroup.controllers": "cpu memory", "a/cgroup.subtree_control": "" }, "0::/\n", "0::/a\n"],
  ["1", { "pids/tasks": "", "memory/tasks": "" }, "", ""],
])("version %s: counts processes that must be counted, or rejects the call", (version, files, able, unable) => {
  const limits = { pids: 20, mustCount: true };
  const root = cgroupFiles(files);
  expect(create("call", limits, host(root, able)).countsProcesses).toBe(true);
  const lacking = version === "2" ? root : cgroupFiles({ "memory/tasks": "" });
  expect(() => create("call", limits, host(lacking, unable))).toThrow(/a pids limit cannot be enforced/);
});

test("a quota is never below the kernel's minimum", () => {
  const root = cgroupFiles({ "cpu/tasks": "" });
  createLimitCgroup("call", { cpus: 0.001 }, host(root, ""));
  expect(readFileSync(join(root, "cpu/call/cpu.cfs_quota_us"), "utf8")).toBe("1000");
});
