import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cgroupFiles } from "../../testing/cgroup-files.ts";
import { createLimitCgroup } from "./cgroups.ts";
import { LimitUnavailableError } from "./files.ts";
import type { CgroupHost, LimitCgroup, Limits } from "./limit-cgroup.ts";
import { WaitingGroup } from "./waiting-group.ts";

const version1 = (): CgroupHost => ({
  root: cgroupFiles({ "memory/own/tasks": "", "cpu/tasks": "", "pids/tasks": "" }),
  self: "4:memory:/own\n1:cpu,cpuacct:/gone\n",
  isRoot: true,
  ownProcesses: () => [],
});

const version2 = (isRoot: boolean): CgroupHost => ({
  root: cgroupFiles({
    "cgroup.controllers": "cpu memory pids",
    "a/cgroup.controllers": "cpu memory pids",
    "a/cgroup.subtree_control": "cpu memory pids",
  }),
  self: "0::/a/xfn-supervisor\n",
  isRoot,
  ownProcesses: () => [],
});

function own(limits: Limits, host: CgroupHost): LimitCgroup | undefined {
  return createLimitCgroup("call", limits, host);
}

const nameless = (procs: readonly string[]): string[] => procs.map((file) => file.replace(/xfn-[\d-]+/, "waiting"));

test("version 1: bounds memory and processors, and leads back to the runner's groups", () => {
  const host = version1();
  const place = new WaitingGroup(4096, host).place(undefined);
  expect(nameless(place.procs)).toEqual(["memory/own/waiting/cgroup.procs", "cpu/waiting/cgroup.procs"]);
  expect(place.home).toEqual(["memory/own/cgroup.procs", "cpu/cgroup.procs"]);
  const [memory = ""] = place.procs;
  expect(readFileSync(join(host.root, memory, "../memory.limit_in_bytes"), "utf8")).toBe("4096");
});

test("version 1: a call's own groups stay, and the others are those of waiting sandboxes", () => {
  const host = version1();
  const group = new WaitingGroup(4096, host);
  expect(nameless(group.place(own({ cpus: 1 }, host)).procs)).toEqual(["memory/own/waiting/cgroup.procs"]);
  expect(nameless(group.place(own({ memoryBytes: 1, pids: 9 }, host)).procs)).toEqual(["cpu/waiting/cgroup.procs"]);
  expect(group.bounds({ cpus: 1 })).toBe(true);
});

test("version 2: has one group, and leads back to that of the runner", () => {
  const host = version2(true);
  const place = new WaitingGroup(4096, host).place(undefined);
  expect(nameless(place.procs)).toEqual(["a/waiting/cgroup.procs"]);
  expect(place.home).toEqual(["a/xfn-supervisor/cgroup.procs"]);
});

test("version 2: a call's own group must bound its memory", () => {
  const host = version2(false);
  const group = new WaitingGroup(4096, host);
  expect(group.place(own({ memoryBytes: 1 }, host))).toEqual({ procs: [], home: [] });
  expect(group.bounds({ memoryBytes: 1, cpus: 1 })).toBe(true);
  expect(group.bounds({})).toBe(true);
  expect(group.bounds({ cpus: 1 })).toBe(false);
  expect(group.bounds({ pids: 9 })).toBe(false);
  expect(new WaitingGroup(4096, version2(true)).bounds({ pids: 9 })).toBe(true);
});

test("without a memory controller there is none", () => {
  const host = { ...version1(), root: cgroupFiles({ "cpu/tasks": "" }) };
  expect(() => new WaitingGroup(4096, host)).toThrow(LimitUnavailableError);
});
