import { once } from "node:events";
import { readlinkSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { buildImage } from "@xfn/oci-rootfs";
import type { Runner, RunnerEvent, RunnerOptions, RunOptions } from "@xfn/runner";
import { WARM_POOL_LABEL } from "@xfn/runner";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DESCRIPTORS_OF_A_SANDBOX, descriptorsOf, openDescriptors } from "../harness/descriptors.ts";
import { needs } from "../harness/needs.ts";
import { NO_HURRY_MS, PATIENCE, withMoreTime } from "../harness/patience.ts";
import { childrenOf, descendantsOf, functionsBelow, processFile } from "../harness/processes.ts";
import { inTime, runnerOf, SHELL, storeOf, writeCaller } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";

describe("pre-started sandboxes", needs("crun"), () => {
  const shared = shellWorkspace();
  let runner: Runner;
  let events: RunnerEvent[];
  beforeEach(async () => {
    events = [];
    runner = await warmRunner();
  });
  afterEach(async () => {
    await runner.close();
  });

  const warmRunner = async (options: Omit<RunnerOptions, "store"> = {}): Promise<Runner> =>
    await runnerOf(shared.workspace, { warmPool: "adaptive", onEvent: (event) => events.push(event), ...options });

  const call = async (image: string, input: string, options: RunOptions = {}): Promise<string> =>
    Buffer.from(await runner.run(image, Buffer.from(input), { timeoutMs: NO_HURRY_MS, ...options })).toString("utf8");
  const sh = async (script: string, options: RunOptions = {}): Promise<string> =>
    await call(SHELL, `${script}\n`, options);

  const until = async (waiting: number): Promise<void> => {
    await vi.waitFor(() => expect(runner.counts()).toEqual({ running: 0, waiting }), { timeout: 60_000, interval: 10 });
  };
  /** Waits until a call of the shell has a waiting sandbox, and expects that no earlier call has one. */
  const nextWaitsAlone = async (earlier = 0): Promise<void> => {
    await sh("echo next");
    await until(1);
    expect(events.filter(({ type }) => type === "sandbox-waiting")).toHaveLength(earlier + 1);
  };
  const warmStarts = (): boolean[] => events.flatMap((event) => (event.type === "call-started" ? [event.warm] : []));

  /** Builds an image on top of the shell's with another entrypoint. */
  const build = async (
    name: string,
    script: string | undefined,
    labels: Record<string, string> = {},
  ): Promise<string> => {
    const store = await storeOf(shared.workspace);
    const entrypoint = script === undefined ? {} : { entrypoint: ["/bin/sh", "-c", script] };
    await buildImage({ store, name, base: await store.image(SHELL), layers: [], config: { labels, ...entrypoint } });
    return name;
  };

  test("the second call uses a waiting sandbox, and another one replaces it", async () => {
    expect(await sh("echo one")).toBe("one\n");
    await until(1);
    expect(await sh("echo two")).toBe("two\n");
    await until(1);
    expect(warmStarts()).toEqual([false, true]);
    expect(events.map(({ type }) => type)).toEqual([
      "call-started",
      "sandbox-waiting",
      "sandbox-used",
      "call-started",
      "sandbox-waiting",
    ]);
  });

  test("two calls share nothing: no files, no processes, no memory", async () => {
    const poison = "echo x > /poison; echo x > /tmp/poison; echo x > /dev/shm/poison; (sleep 600 &); echo $$";
    await sh(poison);
    for (let round = 0; round < 3; round++) {
      await until(1);
      expect(await sh("ls -A /tmp /dev/shm; ls /poison 2>/dev/null; cd /proc; echo [0-9]*")).toBe(
        "/dev/shm:\n\n/tmp:\n1\n",
      );
      await until(1);
      await sh(poison);
    }
    expect(warmStarts()).toEqual([false, true, true, true, true, true, true]);
  });

  test("concurrent calls get separate sandboxes", async () => {
    runner = await replaced({ warmPool: 3 });
    await sh("echo first");
    await until(3);
    const outputs = await Promise.all([1, 2, 3, 4, 5].map((n) => sh(`echo ${n} > /n; sleep 0.1; cat /n`)));
    expect(outputs).toEqual(["1\n", "2\n", "3\n", "4\n", "5\n"]);
    expect(warmStarts().filter(Boolean).length).toBe(3);
  });

  test("a call's timeout starts when its input is delivered", async () => {
    await sh("echo first");
    const answer = await withMoreTime(1_400, async (timeoutMs) => {
      await until(1);
      await sleep(timeoutMs + 100);
      return await inTime(sh("sleep 0.2; echo in time", { timeoutMs }));
    });
    expect(answer).toBe("in time\n");
    await until(1);
    await expect(sh("sleep 600", { timeoutMs: 300 })).rejects.toMatchObject({ code: "Timeout" });
    expect(warmStarts().filter((warm) => !warm)).toHaveLength(1);
  });

  test("a pre-started sandbox handles 50 MB", async () => {
    await sh("echo first");
    await until(1);
    const input = "0123456789".repeat(5_000_000);
    expect((await call(SHELL, `cat\n${input}`)) === input).toBe(true);
    expect(warmStarts()).toEqual([false, true]);
  });

  test(
    "a call with other limits or another network gets no sandbox of another call",
    needs("cgroup-limits"),
    async () => {
      await sh("echo first");
      await until(1);
      expect(await sh("echo limited", { memoryBytes: 64 * 1024 * 1024 })).toBe("limited\n");
      await until(2);
      const hungry = "a=x; while :; do a=$a$a; done";
      await expect(sh(hungry, { memoryBytes: 64 * 1024 * 1024 })).rejects.toMatchObject({ code: "OutOfMemory" });
      expect(warmStarts()).toEqual([false, false, true]);
    },
  );

  test("a function with the runner's network is never pre-started", async () => {
    for (let round = 0; round < 3; round++) await sh("echo", { network: "Accessible" });
    await nextWaitsAlone();
    expect(warmStarts()).toEqual([false, false, false, false]);
  });

  test("an image opts out by its label", async () => {
    const image = await build("test/shy", undefined, { [WARM_POOL_LABEL]: "false" });
    for (let round = 0; round < 2; round++) await call(image, "echo\n");
    await nextWaitsAlone();
    expect(warmStarts()).toEqual([false, false, false]);
  });

  test("output before the input arrives is part of the answer", async () => {
    const image = await build("test/greets", "echo hello; echo note >&2; cat");
    const seen: string[] = [];
    const onStderr = (tail: string): void => void seen.push(tail);
    expect(await call(image, "you", { onStderr })).toBe("hello\nyou");
    await until(1);
    // It has written its output once it runs the next program.
    await vi.waitFor(() => expect(running("cat")).toHaveLength(1), PATIENCE);
    expect(await call(image, "you", { onStderr })).toBe("hello\nyou");
    expect(warmStarts()).toEqual([false, true]);
    expect(seen).toEqual(["note\n", "note\n"]);
  });

  test("a function that does not read its input answers each call, and is not pre-started endlessly", async () => {
    const isEnded = (event: RunnerEvent): boolean => event.type === "sandbox-discarded" && event.reason === "ended";
    const answers = await build("test/answers", "echo done");
    const fails = await build("test/fails", "exit 3");
    for (let round = 0; round < 4; round++) {
      expect(await call(answers, "")).toBe("done\n");
      await expect(call(fails, "")).rejects.toMatchObject({ code: "NonZeroExit", exitCode: 3 });
      // Wait until the runner sees both sandboxes end, because it learns nothing from a sandbox that a call uses first.
      await vi.waitFor(() => expect(events.filter(isEnded)).toHaveLength(2), PATIENCE);
    }
    await nextWaitsAlone(2);
  });

  test("a sandbox that is killed while it waits fails no call", async () => {
    await sh("echo first");
    await until(1);
    const waiting = await theFunction();
    process.kill(waiting, "SIGKILL");
    // The runner cannot notice the end before this process returns to its event loop.
    while (/^State:\s+[^ZX]/m.test(processFile(waiting, "status")));
    expect(await sh("echo second")).toBe("second\n");
  });

  test("a sandbox whose runtime hangs ends its call at the deadline, and leaves no process", async () => {
    // The second process has its own session, as those of a real runtime have.
    runner = await replaced({ ociRuntime: await runtime("setsid sleep 600 & sleep 600") });
    await sh("echo first");
    await until(1);
    await vi.waitFor(() => expect(running("sleep", "600")).toHaveLength(2), PATIENCE);
    await expect(sh("echo second", { timeoutMs: 300 })).rejects.toMatchObject({ code: "Timeout" });
    await until(1);
    // These belong to the next waiting sandbox.
    await vi.waitFor(() => expect(running("sleep", "600")).toHaveLength(2), PATIENCE);
  });

  test.each([
    ["ends only after its function", '"$@"; sleep 0.5; exit 0'],
    [
      "stays until the function's end despite --detach",
      'for word; do shift; [ "$word" = --detach ] || set -- "$@" "$word"; done; exec "$@"',
    ],
  ])("a sandbox whose runtime %s answers as usual", async (_, script) => {
    runner = await replaced({ ociRuntime: await runtime(script) });
    await sh("echo first");
    await until(1);
    expect(await sh("echo second")).toBe("second\n");
    await until(1);
    await expect(sh("exit 3")).rejects.toMatchObject({ code: "NonZeroExit", exitCode: 3 });
    expect(warmStarts()).toEqual([false, true, true]);
  });

  test("a function that fails before its runtime ends is reported as failed", async () => {
    runner = await replaced({ ociRuntime: await runtime('"$@"; sleep 3; exit 0') });
    const fails = await build("test/fails", "echo half; exit 3");
    await expect(call(fails, "")).rejects.toMatchObject({ code: "NonZeroExit", exitCode: 3 });
    await until(1);
    await expect(call(fails, "")).rejects.toMatchObject({ code: "NonZeroExit", exitCode: 3 });
    expect(warmStarts()[1]).toBe(true);
  });

  test("a sandbox whose runtime fails to pre-start it fails no call", async () => {
    runner = await replaced({ ociRuntime: await runtime("echo broken >&2; exit 1") });
    for (let round = 0; round < 3; round++) {
      expect(await sh("echo done")).toBe("done\n");
      await vi.waitFor(
        () => expect(events).toContainEqual(expect.objectContaining({ type: "sandbox-discarded", reason: "ended" })),
        PATIENCE,
      );
    }
  });

  test("if the sandbox host is killed, its waiting sandboxes end and calls continue", async () => {
    const earlier = new Set(childrenOf(process.pid));
    runner = await replaced();
    await sh("echo first");
    await until(1);
    for (const pid of childrenOf(process.pid)) if (!earlier.has(pid)) process.kill(pid, "SIGKILL");
    await until(0);
    expect(await sh("echo second")).toBe("second\n");
  });

  test("waiting sandboxes end with a killed runner", async () => {
    const path = await writeCaller(shared.workspace, "sleep 600", {}, { warmPool: 3 });
    const caller = shared.workspace.start([process.execPath, path]);
    await once(caller.child.stdout as NodeJS.ReadableStream, "data");
    const pid = caller.child.pid as number;
    // The sandbox in use, and the waiting ones.
    await vi.waitFor(() => expect(functionsBelow(pid).length).toBeGreaterThan(1), PATIENCE);
    caller.child.kill("SIGKILL");
    await caller.finished;
    // The killed runner left the cgroup of its waiting sandboxes, which only another runner can remove.
    runner = await replaced();
    expect(await sh("echo next")).toBe("next\n");
  });

  test("a sandbox that uses the processor while it waits is discarded", async () => {
    const image = await build("test/spins", "while :; do :; done & cat");
    expect(await call(image, "x")).toBe("x");
    await vi.waitFor(
      () => expect(events).toContainEqual(expect.objectContaining({ type: "sandbox-discarded", reason: "busy" })),
      { timeout: 30_000, interval: 100 },
    );
    expect(runner.counts().waiting).toBe(0);
  });

  test("no sandbox waits over the memory limit", async () => {
    runner = await replaced({ warmPoolLimits: { memoryBytes: 1_000 } });
    await sh("echo first");
    await vi.waitFor(
      () =>
        expect(events).toContainEqual(
          // The kernel may end it before the runner has measured it.
          expect.objectContaining({ type: "sandbox-discarded", reason: expect.stringMatching(/^(memory|ended)$/) }),
        ),
      { timeout: 30_000, interval: 100 },
    );
    expect(runner.counts().waiting).toBe(0);
  });

  test("a cancelled call ends its sandbox", async () => {
    await sh("echo first");
    await until(1);
    const aborter = new AbortController();
    const cancelled = sh("sleep 600", { signal: aborter.signal });
    await vi.waitFor(() => expect(running("sleep", "600")).toHaveLength(1), PATIENCE);
    aborter.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "Aborted" });
    await until(1);
  });

  test("descriptors do not grow with calls", async () => {
    for (let round = 0; round < 3; round++) {
      await sh("cat");
      await until(1);
    }
    const first = openDescriptors().length;
    for (let round = 0; round < 20; round++) {
      await sh("cat");
      await until(1);
    }
    const now = openDescriptors();
    expect(now.length, now.join(" ")).toBeLessThanOrEqual(first + DESCRIPTORS_OF_A_SANDBOX);
  });

  test.each(["mnt", "net", "ipc"])(
    "the sandbox host retains the %s namespace of the waiting sandbox, and none of ended ones",
    async (name) => {
      const earlier = new Set(childrenOf(process.pid));
      runner = await replaced();
      for (let round = 0; round < 5; round++) {
        await sh("cat");
        await until(1);
      }
      // unshare(1) runs between the runner and its host.
      const [host] = childrenOf(process.pid).flatMap((pid) => (earlier.has(pid) ? [] : childrenOf(pid)));
      if (host === undefined) throw new Error("no sandbox host");
      await vi.waitFor(() => {
        const namespaceOf = (pid: number): string => readlinkSync(`/proc/${pid}/ns/${name}`);
        // A loaded runtime does not have its own namespaces yet.
        const waiting = childrenOf(host)
          .map(namespaceOf)
          .filter((namespace) => namespace !== namespaceOf(host));
        expect(waiting).toHaveLength(1);
        expect(descriptorsOf(host).filter((target) => target.startsWith(`${name}:`))).toEqual(waiting);
      }, PATIENCE);
    },
  );

  /** An OCI runtime that runs `script` when it pre-starts a function, and crun otherwise. */
  async function runtime(script: string): Promise<string> {
    const text = `#!/bin/sh\ncase "$*" in *--detach*) set -- crun "$@"; ${script} ;; *) exec crun "$@" ;; esac\n`;
    return await shared.workspace.write("crun", text, { mode: 0o755 });
  }

  /** Replaces the runner of the test. */
  async function replaced(options: Omit<RunnerOptions, "store"> = {}): Promise<Runner> {
    await runner.close();
    return await warmRunner(options);
  }
});

/** Waits until the waiting function has executed its program. It starts as a copy of its runtime. */
async function theFunction(): Promise<number> {
  const isShell = (pid: number): boolean => processFile(pid, "cmdline").startsWith("/bin/sh\0");
  return await vi.waitFor(
    () => {
      const [pid, ...others] = functionsBelow(process.pid).filter(isShell);
      expect(others).toEqual([]);
      return pid ?? expect.fail("no function waits");
    },
    { timeout: 30_000, interval: 10 },
  );
}

/** The processes that run a program with these arguments, and no others. */
function running(...words: string[]): number[] {
  const line = words.map((word) => `${word}\0`).join("");
  return descendantsOf(process.pid).filter((pid) => processFile(pid, "cmdline") === line);
}
