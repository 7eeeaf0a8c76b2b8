import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Runner, RunOptions } from "@xfn/runner";
import { RunnerError } from "@xfn/runner";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { ask, buildShellFunction, failureOf, runnerOf, writeCaller } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

const MiB = 1024 * 1024;

// The limit is six. If a cgroup counts processes, it also allows a few for crun.
const MANY =
  "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do sleep 60 & done";

describe("limits of a call", needs("crun"), () => {
  let workspace: Workspace;
  let runner: Runner;
  let state: Before;
  beforeAll(async () => {
    workspace = await Workspace.create();
    await buildShellFunction(workspace);
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    state = await before(workspace.root);
    runner = await runnerOf(workspace);
  });
  afterEach(async () => {
    await runner.close();
    expect(await leftovers(state)).toEqual([]);
  });

  const sh = async (script: string, options: RunOptions = {}): Promise<string> => await ask(runner, script, options);
  const failure = async (script: string, options: RunOptions = {}): Promise<RunnerError> =>
    await failureOf(sh(script, options));

  test("a process of a function without a memory limit cannot take the whole memory", async () => {
    const kibibytes = Number(await sh("ulimit -d"));
    expect(kibibytes).toBeGreaterThan(0);
    expect(kibibytes * 1024).toBeLessThan(totalmem());
  });

  describe("processes", () => {
    test("a function that fails after a rejected fork fails with TooManyProcesses", needs("root"), async () => {
      const error = await failure(`${MANY}; exit 3`, { pids: 6 });
      expect(error).toMatchObject({ code: "TooManyProcesses", phase: "run", retryable: false });
      expect(error.message).toContain("6");
      expect(await sh("sleep 0 & sleep 0 & wait; echo few", { pids: 6 })).toBe("few\n");
    });

    test("a function that answers despite a rejected fork succeeds", needs("root"), async () => {
      expect(await sh(`(${MANY}) 2>/dev/null; echo answered`, { pids: 6 })).toBe("answered\n");
    });

    test("the kernel's counter decides, not the function's output", needs("root", "cgroup-limits"), async () => {
      const error = await failure(`(${MANY}) 2>/dev/null; exit 3`, { pids: 6, memoryBytes: 64 * MiB });
      expect(error).toMatchObject({ code: "TooManyProcesses", exitCode: 3, stderr: "" });
    });

    test("every function has a process limit", async () => {
      const [, soft, hard] = /^Max processes +(\d+) +(\d+)/m.exec(await sh("cat /proc/self/limits")) ?? [];
      expect(soft).toBe(hard);
      expect(Number(soft)).toBeLessThan(4_096);
    });
  });

  describe("disk", () => {
    const fill = "head -c 300000000 /dev/zero > /tmp/x 2>/dev/null";

    test("a function that fails with a full disk fails with DiskFull", async () => {
      const error = await failure(`${fill}; exit 3`);
      expect(error).toMatchObject({ code: "DiskFull", phase: "run", exitCode: 3, retryable: false });
      expect(error.message).toContain("256 MiB");
    });

    test("a function that frees its disk before it fails does not fail with DiskFull", async () => {
      expect(await failure(`${fill}; rm /tmp/x; exit 3`)).toMatchObject({ code: "NonZeroExit", exitCode: 3 });
    });

    test("a function that answers despite a full disk succeeds", async () => {
      expect(await sh(`${fill}; echo answered`)).toBe("answered\n");
    });
  });

  describe("memory and cpu", needs("cgroup-limits"), () => {
    test("errors distinguish memory, processes and time", needs("root"), async () => {
      const limits = { memoryBytes: 64 * MiB, pids: 6 };
      const errors = await Promise.all([
        failure("a=x; while :; do a=$a$a; done", limits),
        failure(`${MANY}; exit 3`, limits),
        failure("sleep 600", { ...limits, timeoutMs: 500 }),
      ]);
      const codes = errors.map(({ code }) => code);
      expect(codes).toEqual(["OutOfMemory", "TooManyProcesses", "Timeout"]);
    });

    test("a function does not see the paths of its cgroups", async () => {
      const groups = await sh("cat /proc/self/cgroup", { memoryBytes: 64 * MiB, cpus: 1 });
      expect(groups).toMatch(/^(\d+:memory:\/|0::\/)$/m);
      expect(groups).not.toContain("xfn-");
    });

    test("a cgroup enforces the cpu limit of its function", async () => {
      const seen = new AbortController();
      const call = failure("while :; do :; done", { cpus: 0.2, timeoutMs: 60_000, signal: seen.signal });
      await vi.waitFor(
        () => {
          const [group] = newGroups(state).filter((path) => read(path, "cgroup.procs").trim().split("\n").length > 1);
          expect(read(group, "cpu.max") || read(group, "cpu.cfs_quota_us")).toMatch(/^20000\b/);
          expect(read(group, "cpu.stat")).toMatch(/^nr_throttled [1-9]/m);
        },
        { timeout: 30_000, interval: 20 },
      );
      seen.abort();
      expect((await call).code).toBe("Aborted");
    });

    test("a new runner removes the cgroups of a killed one", async () => {
      const source = await writeCaller(workspace, "sleep 600", { memoryBytes: 64 * MiB });
      const caller = workspace.start([process.execPath, source]);
      await once(caller.child.stdout as NodeJS.ReadableStream, "data");
      await vi.waitFor(() => expect(newGroups(state)).not.toEqual([]), { timeout: 30_000 });
      caller.child.kill("SIGKILL");
      await caller.finished;
      // The killed runner cannot remove its cgroups. Another runner on the machine may do so before this one.
      expect(await sh("echo next", { memoryBytes: 64 * MiB })).toBe("next\n");
      await runner.close();
      expect(await leftovers(state)).toEqual([]);
    });
  });
});

function newGroups(state: Before): string[] {
  return groups("/sys/fs/cgroup").filter((path) => !state.seen.has(`cgroup: ${path}`));
}

function groups(folder: string, depth = 0): string[] {
  const below = unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  return below.flatMap((entry) => {
    if (!entry.isDirectory() || depth > 8) return [];
    const path = join(folder, entry.name);
    return /^xfn-\d/.test(entry.name) ? [path] : groups(path, depth + 1);
  });
}

function read(group: string | undefined, file: string): string {
  return unlessGone(() => readFileSync(join(group ?? "", file), "utf8")) ?? "";
}

function unlessGone<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
