import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { CgroupHost } from "../cgroup/limit-cgroup.ts";
import { limitsOfServer, serversBound } from "./servers-bound.ts";

// Plain files replace the kernel's. test/e2e tests that the kernel enforces the limits.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

/** A version 2 host with these controllers. */
function hostWith(controllers: string): CgroupHost {
  const write = (name: string): void => writeFileSync(join(root, name), controllers);
  write("cgroup.controllers");
  write("cgroup.subtree_control");
  mkdirSync(join(root, "a"));
  write("a/cgroup.controllers");
  write("a/cgroup.subtree_control");
  return { root, self: "0::/a/xfn-supervisor\n", isRoot: false, ownProcesses: () => [] };
}

function boundOf(
  memoryBytes: number | undefined,
  controllers = "memory cpu",
): { bound: ReturnType<typeof serversBound>; warnings: string[] } {
  const warnings: string[] = [];
  const onWarning = (message: string): void => void warnings.push(message);
  return { bound: serversBound({ memoryBytes, onWarning, host: hostWith(controllers) }), warnings };
}

test("servers share one group, of which the kernel kills one at a time", () => {
  const { bound } = boundOf(4096);
  const group = bound.group();
  expect(group).toBe(bound.group());
  const [procs = ""] = group?.procs(undefined) ?? [];
  expect(readFileSync(join(root, procs, "../memory.max"), "utf8")).toBe("4096");
  expect(existsSync(join(root, procs, "../memory.oom.group"))).toBe(false);
});

test("a server whose own cgroup keeps it out of the shared one has the shared bound", () => {
  const group = boundOf(4096).bound.group();
  expect(limitsOfServer({}, group)).toEqual({});
  expect(limitsOfServer({ memoryBytes: 1 }, group)).toEqual({ memoryBytes: 1 });
  expect(limitsOfServer({ cpus: 1 }, group)).toEqual({ cpus: 1, memoryBytes: 4096 });
});

test("without a bound, and without the controller, there is no group; the latter is a warning, once", () => {
  const unbounded = boundOf(undefined);
  expect([unbounded.bound.group(), unbounded.warnings]).toEqual([undefined, []]);
  rmSync(join(root, "a"), { recursive: true });
  const { bound, warnings } = boundOf(4096, "cpu");
  expect([bound.group(), bound.group()]).toEqual([undefined, undefined]);
  expect(limitsOfServer({ cpus: 1 }, bound.group())).toEqual({ cpus: 1 });
  expect(warnings).toEqual([expect.stringContaining("nothing bounds the memory of functions that are servers")]);
});
