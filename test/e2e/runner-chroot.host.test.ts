import { readdirSync, readFileSync } from "node:fs";
import type { Runner, RunOptions } from "@xfn/runner";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { cString, LAUNCH_FAILED, oneCall, type SystemCall } from "../../packages/runner/testing/one-call.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { ask, failureOf, runnerOf } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";

const CHROOT: RunOptions = { type: "Chroot", network: "Accessible" };

// The promises of docs/concepts/security-model.md about functions of type: Chroot.
describe("a function in a chroot", needs("root"), () => {
  const shared = shellWorkspace();
  let runner: Runner;
  beforeAll(async () => {
    // Neither a runtime nor namespaces are needed.
    runner = await runnerOf(shared.workspace, { allowChroot: true, ociRuntime: "/no/such/runtime" });
  });
  afterAll(async () => {
    await runner.close();
    expect(readdirSync(`${shared.workspace.cache}/chroots`)).toEqual([]);
  });

  const sh = async (script: string, options: RunOptions = {}): Promise<string> =>
    await ask(runner, script, { ...CHROOT, ...options });

  test("makes a host ready on which no container can run", async () => {
    await expect(runner.check()).resolves.toBeUndefined();
  });

  test("has a root of its own, which it may change and which is thrown away", async () => {
    expect(await sh("cat /etc/shadow 2>/dev/null; echo x > /etc/mark; ls / | grep -c .; cat /etc/mark")).toMatch(
      /^\d+\nx\n$/,
    );
    expect(await sh("cat /etc/mark 2>/dev/null; cd /../..; ls /proc 2>/dev/null; pwd")).toBe("/\n");
  });

  test("has a user of its own, no group, no capability and a seccomp filter", async () => {
    const { status, groups } = await statusOf("sleep 60");
    const [user] = status.get("Uid") ?? [];
    expect(Number(user)).toBeGreaterThanOrEqual(3_000_000_000);
    expect(status.get("Uid")).toEqual([user, user, user, user]);
    expect(status.get("Gid")).toEqual([user, user, user, user]);
    expect(groups).toBe("");
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
      expect(status.get(set)).toEqual(["0000000000000000"]);
    expect(status.get("NoNewPrivs")).toEqual(["1"]);
    expect(status.get("Seccomp")).toEqual(["2"]);
  });

  test("inherits no descriptor and no variable of the runner", async () => {
    const { descriptors, environment } = await statusOf("exec sleep 60");
    expect(descriptors).toEqual(["0", "1", "2"]);
    expect(environment).not.toContain("HOME=/root");
  });

  test.each(["chroot /tmp true", "mknod /tmp/mem c 1 1", "unshare -r true", "mount -t tmpfs x /tmp"])(
    "cannot: %s",
    async (attempt) => {
      expect(await sh(`${attempt} 2>/dev/null && echo possible; echo end`)).toBe("end\n");
    },
  );

  test("cannot make shared memory or a message queue that another call could see", async () => {
    const IPC_PRIVATE = 0;
    const O_CREAT = 0o100;
    const attempts: SystemCall[] = [
      { name: "shmget", arguments: [IPC_PRIVATE, 4096, 0o666] },
      { name: "msgget", arguments: [IPC_PRIVATE, 0o666] },
      { name: "semget", arguments: [IPC_PRIVATE, 1, 0o666] },
      { name: "mq_open", arguments: [cString("xfn"), O_CREAT, 0o666, 0] },
    ];
    const run = async (call: SystemCall): Promise<string> => {
      const program = oneCall(call).toString("base64");
      return await sh(`echo ${program} | base64 -d >/tmp/call; chmod 755 /tmp/call; /tmp/call 3>/dev/null; echo $?`);
    };
    expect(await run({ name: "getpid", arguments: [] })).toBe("0\n");
    for (const call of attempts) expect([call.name, await run(call)]).toEqual([call.name, `${LAUNCH_FAILED}\n`]);
  });

  test("cannot signal another function or the runner", async () => {
    const [one, two] = [sh("sleep 60"), sh(`kill -9 -1; kill -9 ${process.pid} 2>/dev/null && echo killed; echo end`)];
    expect(await two).toBe("end\n");
    const failing = failureOf(one);
    await runner.close();
    expect((await failing).code).toBe("Closed");
    runner = await runnerOf(shared.workspace, { allowChroot: true });
  });

  test.each([
    ["returns", "echo done", "done\n"],
    ["fails", "exit 3", "NonZeroExit"],
    ["is killed at its timeout", "sleep 600", "Timeout"],
  ])("its children die with it although they left its session: when it %s", async (_, end, expected) => {
    const timeoutMs = expected === "Timeout" ? 2_000 : 60_000;
    const script = `(setsid sleep 4321 >/dev/null 2>&1 </dev/null &) ; sleep 0.1; ${end}`;
    const outcome = await sh(script, { timeoutMs }).catch((error: { code?: string }) => error.code);
    expect(outcome).toBe(expected);
    expect(processesWith("4321")).toEqual([]);
  });

  test("a fork bomb is bounded, and ends with its call", async () => {
    const bomb = "b() { b | b & }; b 2>/dev/null; sleep 1; echo end";
    const outcome = await sh(bomb, { timeoutMs: 20_000 }).catch((error: { code?: string }) => error.code);
    expect(typeof outcome).toBe("string");
    await vi.waitFor(() => expect(chrootProcesses()).toEqual([]), PATIENCE);
    expect(await sh("echo next")).toBe("next\n");
  });

  test("a program that cannot start is an error that names it", async () => {
    const failure = await failureOf(sh("exec /no/such/program"));
    expect(failure.code).toBe("NonZeroExit");
  });

  test.each<[RunOptions, string]>([
    [{ network: "Isolated" }, "ChrootUnavailable"],
    [{ memoryBytes: 1e9 }, "LimitUnavailable"],
    [{ cpus: 1 }, "LimitUnavailable"],
    [{ pids: 10 }, "LimitUnavailable"],
  ])("refuses what a chroot cannot enforce: %j", async (options, code) => {
    expect((await failureOf(sh("echo ran", options))).code).toBe(code);
  });

  test("is refused by a runner that does not allow it", async () => {
    await using strict = await runnerOf(shared.workspace);
    expect((await failureOf(ask(strict, "echo ran", CHROOT))).code).toBe("ChrootUnavailable");
  });

  /** Runs a function, and reads its status from the kernel. */
  async function statusOf(script: string): Promise<{
    status: ReadonlyMap<string, string[]>;
    groups: string;
    descriptors: string[];
    environment: string;
  }> {
    const aborter = new AbortController();
    const call = failureOf(sh(script, { signal: aborter.signal }));
    try {
      return await vi.waitFor(() => {
        const [pid] = chrootProcesses().filter((each) =>
          readFileSync(`/proc/${each}/cmdline`, "utf8").includes("sleep"),
        );
        if (pid === undefined) throw new Error("it does not run yet");
        const lines = readFileSync(`/proc/${pid}/status`, "utf8").split("\n");
        const status = new Map(lines.map((line) => [line.split(":")[0] ?? "", line.split(/\s+/).slice(1)]));
        return {
          status,
          groups: (status.get("Groups") ?? []).join(""),
          descriptors: readdirSync(`/proc/${pid}/fd`),
          environment: readFileSync(`/proc/${pid}/environ`, "utf8"),
        };
      }, PATIENCE);
    } finally {
      aborter.abort();
      await call;
    }
  }
});

function processesWith(argument: string): number[] {
  return pids().filter((pid) => textOf(`/proc/${pid}/cmdline`).split("\0").includes(argument));
}

/** Processes of users that only functions in chroots of this test's process have. */
function chrootProcesses(): number[] {
  const first = 3_000_000_000 + process.pid * 256;
  return pids().filter((pid) => {
    const user = Number(/^Uid:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1]);
    return user >= first && user < first + 256;
  });
}

function pids(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It has ended.
    return "";
  }
}
