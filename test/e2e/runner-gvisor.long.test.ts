import { hostname } from "node:os";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Runner, RunnerEvent } from "@xfn/runner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addHostBases } from "../harness/host-bases.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { askImage } from "../harness/runtime-images.ts";
import { ask, failureOf, runnerOf } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";

const MiB = 1024 * 1024;

/** Questions about a container, each a script. */
const QUESTIONS = {
  processes: "cat /proc/[0-9]*/comm",
  // The glob itself has a descriptor.
  descriptors: "for fd in /proc/self/fd/*; do [ -e $fd ] && echo ${fd##*/}; done; true",
  status: "cat /proc/self/status",
  limits: "ulimit -n; ulimit -c",
  network: "cat /proc/net/dev",
  environment: "cat /proc/self/environ | tr '\\0' '\\n'",
  hostname: "cat /proc/sys/kernel/hostname",
  kernel: "cat /proc/cmdline /proc/version",
  readable:
    "for f in config.gz interrupts kallsyms kcore keys modules sched_debug timer_list; do head -c 1 /proc/$f; done",
  settings:
    "for f in kernel/hostname net/ipv4/ip_forward vm/drop_caches; do (echo 1 > /proc/sys/$f) && echo $f; done; true",
  cgroups: "echo /sys/fs/cgroup/*",
  devices: "cd /dev; for d in *; do [ -b $d ] && echo block $d; [ -c $d ] && [ $d != stderr ] && echo $d; done; true",
  null: "echo x > /dev/null && echo written",
  memory: "cat /dev/zero > /dev/shm/fill || echo full; rm -f /dev/shm/fill",
  tmp: "cat /dev/zero > /tmp/fill || echo full; rm -f /tmp/fill",
  root: "cat /dev/zero > /fill || echo full; rm -f /fill",
};

type Answers = Record<keyof typeof QUESTIONS, string>;

/** Asks all questions in one container: one takes a second to start. */
async function answersOf(runner: Runner): Promise<Answers> {
  const script = Object.entries(QUESTIONS).map(([name, question]) => `echo "== ${name}"; (${question}) 2>/dev/null`);
  const output = await ask(runner, script.join("; "));
  const parts = output.split(/^== /m).slice(1);
  const answers = parts.map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n") + 1)]);
  return Object.fromEntries(answers) as Answers;
}

// The promises of docs/concepts/security-model.md with gVisor, which keeps some of them by other means than other
// runtimes.
describe("gVisor", needs("crun", "root", "runsc"), () => {
  const shared = shellWorkspace();
  let runner: Runner;
  let answers: Answers;
  beforeAll(async () => {
    process.env["XFN_TEST_SECRET"] = "from the runner";
    runner = await runnerOf(shared.workspace, { ociRuntime: "runsc" });
    await runner.check();
    answers = await answersOf(runner);
  });
  afterAll(async () => {
    delete process.env["XFN_TEST_SECRET"];
    await runner.close();
  });

  test("runs functions on a kernel of its own, with their own processes, names and network", () => {
    expect(answers.kernel).toContain("gvisor");
    expect(answers.processes.split("\n")[0]).toBe("function");
    expect(answers.processes.trim().split("\n").length).toBeLessThanOrEqual(3);
    expect(answers.descriptors).toMatch(/^0\n1\n2\n(3\n)?$/);
    expect(answers.hostname).not.toBe(`${hostname()}\n`);
    expect(answers.environment).not.toContain("XFN_TEST_SECRET");
    expect([...answers.network.matchAll(/^\s*(\S+):/gm)].map(([, name]) => name)).toEqual(["lo"]);
  });

  test("leaves functions no capability, no setting of the kernel, and only harmless devices", () => {
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd"])
      expect(answers.status).toContain(`${set}:\t0000000000000000`);
    expect(answers.status).toContain("Seccomp:\t2");
    expect(answers.readable).toBe("");
    expect(answers.settings).toBe("");
    expect(answers.cgroups).toBe("/sys/fs/cgroup/*\n");
    // fuse and ptmx are gVisor's own.
    const harmless = ["full", "fuse", "null", "ptmx", "random", "tty", "urandom", "zero"];
    expect(answers.devices.trim().split("\n")).toSatisfy((all: string[]) => all.every((one) => harmless.includes(one)));
    expect(answers.null).toBe("written\n");
  });

  test("runs programs with threads, such as Node", async () => {
    const { workspace } = shared;
    await addHostBases(workspace, "node");
    const source = "#!/usr/bin/env node\nprocess.stdin.pipe(process.stdout);\n";
    await workspace.write("node/function", source, { mode: 0o755 });
    const { code, stderr } = await workspace.xfn(["build", workspace.path("node"), "-t", "test/node"]);
    expect(code, stderr).toBe(0);
    expect(await askImage(runner, "test/node", "hello")).toBe("hello\n");
  });

  test("bounds open files, core files, and what functions write", () => {
    expect(answers.limits).toBe("4096\n0\n");
    expect([answers.memory, answers.tmp, answers.root]).toEqual(["full\n", "full\n", "full\n"]);
  });

  test("starts functions before their calls, each for one call", async () => {
    const events: RunnerEvent[] = [];
    const onEvent = (event: RunnerEvent): void => void events.push(event);
    await using warm = await runnerOf(shared.workspace, { ociRuntime: "runsc", warmPool: 1, onEvent });
    // From the second call on, the runtime of one more sandbox is loaded.
    for (const answer of ["one", "two", "three"]) {
      expect(await ask(warm, `echo ${answer}`)).toBe(`${answer}\n`);
      await expect.poll(() => warm.counts().waiting, PATIENCE).toBe(1);
    }
    expect(events.flatMap((event) => (event.type === "call-started" ? [event.warm] : []))).toEqual([false, true, true]);
    // The review of the pool discards the others if one has ended.
    await sleep(2_500);
    expect(events.filter(({ type }) => type === "sandbox-discarded")).toEqual([]);
  });

  test("ends a function at its timeout, and what it left, too", async () => {
    expect((await failureOf(ask(runner, "sleep 600 & sleep 600", { timeoutMs: 5_000 }))).code).toBe("Timeout");
    expect(await ask(runner, "sleep 600 & sleep 600 & echo left")).toBe("left\n");
  });

  test("stays within limits of memory and processes", needs("cgroup-limits"), async () => {
    const grow = failureOf(ask(runner, "a=x; while :; do a=$a$a; done", { memoryBytes: 256 * MiB }));
    expect((await grow).code).toBe("OutOfMemory");
    const many = "i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done; echo $i";
    expect((await failureOf(ask(runner, many, { pids: 64 }))).code).toBe("TooManyProcesses");
  });
});
