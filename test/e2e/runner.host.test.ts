import { once } from "node:events";
import { readlinkSync } from "node:fs";
import process from "node:process";
import type { Runner, RunOptions } from "@xfn/runner";
import { MAX_PAYLOAD_BYTES, RunnerError, STDERR_TAIL_BYTES } from "@xfn/runner";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { DESCRIPTORS_OF_A_SANDBOX, openDescriptors } from "../harness/descriptors.ts";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { childrenOf, descendantsOf, processFile } from "../harness/processes.ts";
import { ask, buildShellFunction, failureOf, runnerOf, SHELL, writeCaller } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

describe("runner", needs("crun"), () => {
  let workspace: Workspace;
  beforeAll(async () => {
    workspace = await Workspace.create();
    await buildShellFunction(workspace);
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });

  describe.each(["overlay", "copy"] as const)("with root file systems by %s", (rootfs) => {
    let runner: Runner;
    let state: Before;
    beforeEach(async () => {
      state = await before(workspace.root);
      runner = await runnerOf(workspace, { rootfs });
    });
    afterEach(async () => {
      await runner.close();
      expect(await leftovers(state)).toEqual([]);
    });

    const sh = async (script: string, options: RunOptions = {}, rest = ""): Promise<string> =>
      await ask(runner, script, options, rest);
    const failure = async (script: string, options: RunOptions = {}): Promise<RunnerError> =>
      await failureOf(sh(script, options));

    test("passes stdin to the function and returns its stdout", async () => {
      expect(await sh("cat", {}, "hello\nworld")).toBe("hello\nworld");
    });

    test("two calls share nothing: a call cannot see the files of an earlier one", async () => {
      expect(await sh("echo poison > /poison; echo poison > /tmp/poison; ls /poison /tmp")).toBe(
        "/poison\n\n/tmp:\npoison\n",
      );
      expect(await sh("ls -A /tmp; test ! -e /poison && echo clean")).toBe("clean\n");
    });

    test("50 MB of input and output are complete", async () => {
      const input = "0123456789".repeat(5_000_000);
      expect((await sh("cat", {}, input)) === input).toBe(true);
    });

    test("a function can answer without reading its input", async () => {
      expect(await sh("echo done", {}, "x".repeat(50_000_000))).toBe("done\n");
    });

    test("64 MiB of stderr do not block a function, and only the end is kept", async () => {
      expect(await sh("head -c 67108864 /dev/zero | tr '\\0' e >&2; echo done")).toBe("done\n");
      const { code, stderr } = await failure("head -c 100000 /dev/zero | tr '\\0' e >&2; echo the end >&2; exit 4");
      expect(code).toBe("NonZeroExit");
      expect(stderr).toMatch(/the end\n$/);
      expect(stderr?.length).toBeLessThan(STDERR_TAIL_BYTES + 100);
    });

    test("reports stderr of successful calls too", async () => {
      const seen: string[] = [];
      expect(await sh("echo note >&2; echo done", { onStderr: (tail) => seen.push(tail) })).toBe("done\n");
      expect(seen).toEqual(["note\n"]);
    });

    test("stdout over the limit is an error, never a truncated answer", async () => {
      expect(await failure(`head -c ${MAX_PAYLOAD_BYTES + 1} /dev/zero`)).toMatchObject({
        code: "OutputTooLarge",
        phase: "output",
      });
      expect((await sh(`head -c ${MAX_PAYLOAD_BYTES} /dev/zero`)).length).toBe(MAX_PAYLOAD_BYTES);
    });

    test("the error contains the exit code, image, step and end of stderr", async () => {
      const error = await failure("echo broken >&2; exit 7", { step: "make-it" });
      expect(error).toMatchObject({
        code: "NonZeroExit",
        phase: "run",
        exitCode: 7,
        image: SHELL,
        step: "make-it",
        retryable: false,
      });
      expect(error.stderr).toBe("broken\n");
      expect(error.message).toContain("make-it");
    });

    test("kills a function at its deadline, even if it ignores SIGTERM and forks", async () => {
      const error = await failure("trap '' TERM INT; (sleep 600 &) ; sleep 600", { timeoutMs: 300 });
      expect(error).toMatchObject({ code: "Timeout", phase: "timeout", retryable: true });
    });

    test("a process that outlives the function with its stdout open does not delay the answer", async () => {
      expect(await sh("(sleep 600 &); echo done")).toBe("done\n");
    });

    test("a cancelled call ends at once and leaves nothing", async () => {
      const controller = new AbortController();
      const call = failure("echo started >&2; sleep 600", { signal: controller.signal });
      setTimeout(() => controller.abort(), 200);
      expect(await call).toMatchObject({ code: "Aborted" });
    });

    test("a call that is cancelled before its start starts nothing", async () => {
      expect(await failure("echo done", { signal: AbortSignal.abort() })).toMatchObject({ code: "Aborted" });
    });

    test("a function can fill only its own disk", async () => {
      expect(
        await sh(
          "head -c 400000000 /dev/zero > /tmp/x 2>/dev/null || echo full; rm /tmp/x; echo again > /tmp/x; cat /tmp/x",
        ),
      ).toBe("full\nagain\n");
    });

    test("the number of files of a function is bounded", async () => {
      const many = "i=0; while [ $i -lt 70000 ]; do : > /tmp/$i || exit; i=$((i + 1)); done";
      expect(await failure(many, { timeoutMs: 60_000 })).toMatchObject({ code: "DiskFull" });
    });

    test("concurrent calls do not mix", async () => {
      const outputs = await Promise.all(
        Array.from({ length: 8 }, (_, index) => sh(`sleep 0.0${index}; echo ${index}`)),
      );
      expect(outputs).toEqual(Array.from({ length: 8 }, (_, index) => `${index}\n`));
    });
  });

  // runner-isolation.host.test.ts has more, with each runtime.
  describe("isolation", () => {
    let runner: Runner;
    let state: Before;
    beforeEach(async () => {
      state = await before(workspace.root);
      runner = await runnerOf(workspace);
    });
    afterEach(async () => {
      await runner.close();
      expect(await leftovers(state)).toEqual([]);
    });
    const sh = async (script: string, options: RunOptions = {}): Promise<string> => await ask(runner, script, options);

    test("a function can open its stdio pipes by path", async () => {
      expect(await sh("echo ok > /dev/stdout; readlink /proc/self/fd/0")).toMatch(/^ok\npipe:/);
    });

    test("the host's files and devices are not visible", async () => {
      expect(await sh("ls -d /root/.cache /home/* /sys/* 2>/dev/null; ls /dev | tr '\\n' ' '")).not.toMatch(
        /root|home|sys|sd|vd|mem/,
      );
    });

    test("the runtime runs from a sealed copy, so that no container can replace the host's program (CVE-2019-5736)", async () => {
      const controller = new AbortController();
      const call = sh("sleep 600", { signal: controller.signal }).catch(() => undefined);
      const started = (await startedCrun()).map((pid) => ({ pid, program: readlinkSync(`/proc/${pid}/exe`) }));
      // One of these becomes the function's first process, so keep only those that still run crun.
      const still = crunProcesses();
      const programs = started.filter(({ pid }) => still.includes(pid)).map(({ program }) => program);
      controller.abort();
      await call;
      expect(programs).not.toEqual([]);
      for (const program of programs) expect(program).toBe("/memfd:oci-runtime (deleted)");
    });

    test("a fork bomb stops at its process limit and dies at the deadline", { timeout: 300_000 }, async () => {
      // The shells log to a file, because hundreds of writers to a full pipe would truncate each other's messages.
      const bomb = "f() { f | f & }; f 2>/tmp/log";
      // Ends the function once a shell was refused. To make thousands of processes takes seconds on a busy machine, so
      // this call has time, and the deadline is another call's. The messages of several shells may mix in one line.
      const report =
        'while read -r line; do case $line in *fork*) echo "cannot fork" >&2; exit 1; esac; done </tmp/log';
      const refused = sh(`${bomb}; while :; do ${report}; done`, { timeoutMs: 200_000 });
      await expect(refused).rejects.toMatchObject({ code: "TooManyProcesses", stderr: "cannot fork\n" });
      await expect(sh(`${bomb}; while :; do :; done`, { timeoutMs: 1_000 })).rejects.toMatchObject({ code: "Timeout" });
      expect(await sh("echo well")).toBe("well\n");
    });
  });

  describe("limits", () => {
    test("the error for too much memory names the limit", needs("cgroup-limits"), async () => {
      const state = await before(workspace.root);
      const runner = await runnerOf(workspace);
      try {
        const call = runner.run(SHELL, Buffer.from("a=x; while :; do a=$a$a; done\n"), {
          memoryBytes: 32 * 1024 * 1024,
        });
        await expect(call).rejects.toMatchObject({ code: "OutOfMemory", phase: "run" });
        const output = await runner.run(SHELL, Buffer.from("echo enough\n"), {
          memoryBytes: 32 * 1024 * 1024,
          cpus: 0.5,
        });
        expect(Buffer.from(output).toString()).toBe("enough\n");
      } finally {
        await runner.close();
      }
      expect(await leftovers(state)).toEqual([]);
    });

    test("a process limit above the default applies to the call alone, or is rejected", async () => {
      const runner = await runnerOf(workspace);
      // Without cgroups, the kernel counts all functions of an ordinary user together.
      const refused = process.geteuid?.() !== 0 && needs("cgroup-limits").skip;
      const call = ask(runner, "echo ran", { pids: 2_000 });
      try {
        if (refused) expect((await failureOf(call)).code).toBe("LimitUnavailable");
        else expect(await call).toBe("ran\n");
      } finally {
        await runner.close();
      }
    });

    test("rejects a limit that it cannot enforce; with allowUnlimited runs without it and warns", async () => {
      const lacking = needs("cgroup-limits").skip;
      const warnings: string[] = [];
      const strict = await runnerOf(workspace);
      const lenient = await runnerOf(workspace, {
        allowUnlimited: true,
        onWarning: (warning, about) => void (about === undefined && warnings.push(warning)),
      });
      const call = (runner: Runner): Promise<Uint8Array> =>
        runner.run(SHELL, Buffer.from("echo ran\n"), { memoryBytes: 64 * 1024 * 1024 });
      try {
        if (lacking)
          await expect(call(strict)).rejects.toMatchObject({
            code: "LimitUnavailable",
            phase: "start",
            retryable: false,
          });
        else expect(Buffer.from(await call(strict)).toString()).toBe("ran\n");
        expect(Buffer.from(await call(lenient)).toString()).toBe("ran\n");
        expect(warnings.length).toBe(lacking ? 1 : 0);
      } finally {
        await strict.close();
        await lenient.close();
      }
    });
  });

  describe("ends", () => {
    test.each(["SIGKILL", "SIGTERM"] as const)(
      "after %s to the caller no container, mount or file is left",
      async (signal) => {
        const state = await before(workspace.root);
        const caller = workspace.start([process.execPath, await writeCaller(workspace, "sleep 600")]);
        await once(caller.child.stdout as NodeJS.ReadableStream, "data");
        caller.child.kill(signal);
        await caller.finished;
        expect(await leftovers(state)).toEqual([]);
      },
    );

    test("if the sandbox host is killed, its calls fail and the next call succeeds", async () => {
      const runner = await runnerOf(workspace);
      try {
        const earlier = new Set(childrenOf(process.pid));
        const call = runner.run(SHELL, Buffer.from("echo up >&2; sleep 600\n"));
        const outcome = expect(call).rejects.toMatchObject({ code: "Closed", retryable: true });
        await startedCrun();
        for (const pid of childrenOf(process.pid)) if (!earlier.has(pid)) process.kill(pid, "SIGKILL");
        await outcome;
        expect(Buffer.from(await runner.run(SHELL, Buffer.from("echo again\n"))).toString()).toBe("again\n");
      } finally {
        await runner.close();
      }
    });

    test("kills a hanging crun soon after the deadline", async () => {
      const state = await before(workspace.root);
      const runner = await runnerOf(workspace);
      try {
        const call = runner.run(SHELL, Buffer.from("sleep 600\n"), { timeoutMs: 3_000 });
        const outcome = expect(call).rejects.toMatchObject({ code: "Timeout" });
        for (const pid of await startedCrun()) process.kill(pid, "SIGSTOP");
        await outcome;
        expect(Buffer.from(await runner.run(SHELL, Buffer.from("echo again\n"))).toString()).toBe("again\n");
      } finally {
        await runner.close();
      }
      expect(await leftovers(state)).toEqual([]);
    });

    test("a closed runner rejects calls", async () => {
      const runner = await runnerOf(workspace);
      await runner.close();
      await expect(runner.run(SHELL, Buffer.from(""))).rejects.toMatchObject({ code: "Closed" });
    });

    test("the error for a missing runtime names the command that installs it", async () => {
      const runner = await runnerOf(workspace, { ociRuntime: "no-such-crun" });
      await expect(runner.run(SHELL, Buffer.from(""))).rejects.toMatchObject({
        code: "RuntimeMissing",
        retryable: false,
      });
      await runner.close();
    });

    test("descriptors do not grow with calls", async () => {
      const runner = await runnerOf(workspace);
      try {
        for (let call = 0; call < 3; call++) await runner.run(SHELL, Buffer.from("cat\n"));
        const before = openDescriptors().length;
        for (let call = 0; call < 30; call++) await runner.run(SHELL, Buffer.from("cat\n"));
        // The runner closes a call's descriptors after its answer, later on a busy machine.
        await vi.waitFor(
          () => {
            const now = openDescriptors();
            expect(now.length, now.join(" ")).toBeLessThanOrEqual(before + DESCRIPTORS_OF_A_SANDBOX);
          },
          { timeout: 30_000, interval: 50 },
        );
      } finally {
        await runner.close();
      }
    });
  });
});

/** The crun processes below this one. */
function crunProcesses(): number[] {
  return descendantsOf(process.pid).filter((pid) => processFile(pid, "cmdline").includes("\0run\0--bundle="));
}

/** Waits for the first crun processes. */
async function startedCrun(): Promise<number[]> {
  return await vi.waitFor(
    () => {
      const started = crunProcesses();
      expect(started.length).toBeGreaterThan(0);
      return started;
    },
    { timeout: 30_000, interval: 20 },
  );
}
