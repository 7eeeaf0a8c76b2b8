import { once } from "node:events";
import { readFileSync } from "node:fs";
import process from "node:process";
import type { Runner } from "@xfn/runner";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { waitingRuntime } from "../harness/loaded-runtime.ts";
import { needs } from "../harness/needs.ts";
import { childrenOf, processFile } from "../harness/processes.ts";
import { ask, failureOf, runnerOf, writeCaller } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";

describe("an OCI runtime that is loaded before its call", needs("crun"), () => {
  const shared = shellWorkspace();
  let runner: Runner;
  beforeEach(async () => {
    runner = await runnerOf(shared.workspace);
  });
  afterEach(async () => {
    await runner.close();
  });

  /** Makes two calls. Then a loaded runtime waits for the third. */
  async function loaded(): Promise<number> {
    for (const n of [1, 2]) expect(await ask(runner, `echo ${n}`)).toBe(`${n}\n`);
    return await waitingRuntime();
  }

  test("waits without a container, and the next call uses it", async () => {
    const runtime = await loaded();
    expect(childrenOf(runtime)).toEqual([]);
    const call = ask(runner, "sleep 1; echo done");
    await vi.waitFor(() => expect(childrenOf(runtime)).toHaveLength(1), { timeout: 30_000, interval: 10 });
    expect(await call).toBe("done\n");
    expect(processFile(runtime, "cmdline")).toBe("");
  });

  test("serves one call, and shares nothing with the next", async () => {
    const runtimes = new Set([await loaded()]);
    for (let round = 0; round < 5; round++) {
      expect(await ask(runner, "ls -A /tmp; echo x >/tmp/poison; (sleep 600 &); cd /proc; echo [0-9]*")).toMatch(
        /^1( |\n)/,
      );
      runtimes.add(await waitingRuntime());
    }
    expect(runtimes.size).toBe(6);
  });

  test("handles large inputs and outputs", async () => {
    await loaded();
    const text = "0123456789".repeat(1_000_000);
    expect((await ask(runner, "cat", {}, text)) === text).toBe(true);
  });

  test("enforces the limits of its call", needs("cgroup-limits"), async () => {
    const limits = { memoryBytes: 32 * 1024 * 1024 };
    for (const n of [1, 2]) expect(await ask(runner, `echo ${n}`, limits)).toBe(`${n}\n`);
    await waitingRuntime();
    const error = await failureOf(ask(runner, "x=$(head -c 100000000 /dev/zero | tr '\\0' x)", limits));
    expect(error.code).toBe("OutOfMemory");
  });

  test("does not fail the next call if it is killed while it waits or as the call begins", async () => {
    for (let round = 0; round < 5; round++) {
      runner = await replaced();
      const runtime = await loaded();
      process.kill(runtime, "SIGKILL");
      if (round > 1)
        await vi.waitFor(() => expect(processFile(runtime, "cmdline")).toBe(""), { timeout: 30_000, interval: 1 });
      expect(await ask(runner, `echo ${round}`)).toBe(`${round}\n`);
    }
  });

  test("does not fail the next call if it fails while it waits, and is not retried endlessly", async () => {
    const log = shared.workspace.path("loads");
    const bundle = 'for word; do case "$word" in --bundle=*) bundle=${word#--bundle=} ;; esac; done';
    // The self-test waits too, for its cgroups.
    const tests = 'grep -q self-test "$bundle/config.retained" 2>/dev/null';
    const fails = `${tests} || { [ -h "$bundle/config.json" ] && echo x >>${log} && exit 1; }`;
    const ociRuntime = await shared.workspace.write("crun", `#!/bin/sh\n${bundle}\n${fails}\nexec crun "$@"\n`, {
      mode: 0o755,
    });
    runner = await replaced({ ociRuntime });
    for (let round = 0; round < 10; round++) {
      expect(await ask(runner, `echo ${round}`)).toBe(`${round}\n`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(readFileSync(log, "utf8")).toBe("x\n");
  });

  test("runs a function that fails at once only once", async () => {
    await loaded();
    for (let round = 0; round < 3; round++) {
      const error = await failureOf(ask(runner, "echo once >&2; exit 3"));
      expect(error).toMatchObject({ code: "NonZeroExit", exitCode: 3, stderr: "once\n" });
      await waitingRuntime();
    }
  });

  test("ends with a killed runner", async () => {
    const path = await writeCaller(shared.workspace, "sleep 600");
    const caller = shared.workspace.start([process.execPath, path]);
    await once(caller.child.stdout as NodeJS.ReadableStream, "data");
    const waits = await waitingRuntime(caller.child.pid);
    caller.child.kill("SIGKILL");
    await caller.finished;
    await vi.waitFor(() => expect(processFile(waits, "cmdline")).toBe(""), { timeout: 30_000, interval: 10 });
  });

  async function replaced(options: Parameters<typeof runnerOf>[1] = {}): Promise<Runner> {
    await runner.close();
    return await runnerOf(shared.workspace, options);
  }
});
