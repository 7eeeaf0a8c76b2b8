import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "@xfn/oci-rootfs";
import type { Runner, RunOptions } from "@xfn/runner";
import { createRunner, RunnerError, sandboxOwner } from "@xfn/runner";

// Checks of a host with only cgroup v2, for each kind of user. run-checks.ts runs them in the virtual machine, and the
// test outside uses their names.

/** The user and the cgroup of the runner: see guest.sh. */
export type Kind = "root" | "delegated" | "foreign";

/** The runner of one check. */
export interface Subject {
  kind: Kind;
  /** Runs a shell script as a function. */
  sh(script: string, options?: RunOptions): Promise<string>;
  /** Runs a script that must fail. */
  failure(script: string, options?: RunOptions): Promise<RunnerError>;
  runner: Runner;
}

type Check = (subject: Subject) => Promise<void>;

// The groups of guest.sh. Two kinds run concurrently.
const BASE: Record<Kind, string> = {
  root: "/sys/fs/cgroup/service",
  delegated: "/sys/fs/cgroup/user.slice/delegated",
  foreign: "/sys/fs/cgroup/user.slice/foreign",
};
const MiB = 1024 * 1024;
// The emulated machine is slow, and slower while other tests run.
const PATIENCE_MS = 60_000;

const memoryKills: Check = async ({ sh, failure }) => {
  const options = { memoryBytes: 24 * MiB, timeoutMs: PATIENCE_MS };
  const error = await failure("a=x; while :; do a=$a$a; done", options);
  deepEqual([error.code, error.phase], ["OutOfMemory", "run"]);
  equal(await sh("echo enough", options), "enough\n");
};

const memoryKillsWhole: Check = async ({ failure }) => {
  // memory.oom.group kills the shell too, which would succeed after the death of its child.
  const error = await failure("(a=x; while :; do a=$a$a; done); echo went on", {
    memoryBytes: 24 * MiB,
    timeoutMs: PATIENCE_MS,
  });
  equal(error.code, "OutOfMemory");
};

const cpuSlows: Check = async ({ kind, failure }) => {
  const throttled = new AbortController();
  const call = failure("while :; do :; done", { cpus: 0.2, timeoutMs: PATIENCE_MS, signal: throttled.signal });
  const group = await untilRuns(kind);
  equal(text(join(group, "cpu.max")).trim(), "20000 100000");
  while (!/^nr_throttled [1-9]/m.test(text(join(group, "cpu.stat")))) await sleep(10);
  throttled.abort();
  equal((await call).code, "Aborted");
};

// More than the limit of six and the few processes of crun in the same group.
const many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do sleep 60 & done";

const processesRefused: Check = async ({ sh, failure }) => {
  const options = { pids: 6, memoryBytes: 64 * MiB };
  const error = await failure(`${many}; exit 3`, options);
  // The cgroup's counter takes precedence over the text on stderr.
  equal(error.code, "TooManyProcesses");
  match(error.message, /after the kernel refused it a process/);
  equal(await sh("sleep 0 & sleep 0 & wait; echo few", options), "few\n");
};

// Without any other limit, an ordinary user's runner counts in a cgroup if it can create one, and root's by
// RLIMIT_NPROC.
const processesRefusedAlone: Check = async ({ failure }) => {
  const error = await failure(`${many}; exit 3`, { pids: 6 });
  equal(error.code, "TooManyProcesses");
};

// RLIMIT_NPROC counts the processes of all functions of this user, and so leaves room for several.
const processesBoundedTogether: Check = async ({ sh }) => {
  const [, soft, hard] = /^Max processes +(\d+) +(\d+)/m.exec(await sh("cat /proc/self/limits")) ?? [];
  ok(Number(soft) < 4_096 && soft === hard, `${soft} ${hard}`);
};

const deadlineKills: Check = async ({ failure }) => {
  const error = await failure("trap '' TERM; (sleep 600 &) ; sleep 600", { memoryBytes: 64 * MiB, timeoutMs: 500 });
  equal(error.code, "Timeout");
};

const nothingLeft: Check = async ({ kind, runner }) => {
  await runner.close();
  await untilGone(kind);
};

/** The file in which a killed runner (run-checks.ts) records its group. */
export const leftFile = (kind: string): string => `/run/tests/left-${kind}`;

const sweptAfterKill: Check = async ({ kind, runner }) => {
  // Its processes have ended with it, and its group remains.
  const group = text(leftFile(kind));
  ok(groups(kind).includes(group), `the killed runner left no group (${group}): this check proves nothing`);
  runner.prepare();
  await untilGone(kind);
};

const refused =
  (limit: RunOptions, reason: RegExp): Check =>
  async ({ failure }) => {
    const error = await failure("echo ran", limit);
    deepEqual([error.code, error.phase, error.retryable], ["LimitUnavailable", "start", false]);
    match(error.message, reason);
    match(error.message, /systemd-run --user --scope -p Delegate=yes/);
  };

const doctorSays: Check = async ({ kind }) => {
  // From guest.sh, because doctor checks the cgroup in which it must be alone.
  const report = text(`/run/doctor-${kind}.json`);
  ok(report.startsWith("{"), `no report: ${report}`);
  const { checks } = JSON.parse(report) as { checks: { id: string; status: string; detail: string }[] };
  const statuses = ["limits", "process-limit"].map((name) => checks.find(({ id }) => id === name)?.status);
  deepEqual(statuses, ["ok", "ok"], report);
};

const enforced: Record<string, Check> = {
  "no group is left after kill -9 of a runner and the start of another": sweptAfterKill,
  "a function over its memory limit is killed and reported as OutOfMemory": memoryKills,
  "all processes of a function are killed if one is over the memory limit": memoryKillsWhole,
  "a CPU limit is written to cpu.max and slows the function": cpuSlows,
  "a function over its process limit is refused processes and reported as TooManyProcesses": processesRefused,
  "a process limit without other limits is enforced": processesRefusedAlone,
  "a deadline kills all processes of the group": deadlineKills,
  "no group is left after these calls and the close of the runner": nothingLeft,
};

/** The checks of each kind of user, in order. */
export const checks: Record<Kind, Record<string, Check>> = {
  root: enforced,
  delegated: { "doctor reports that limits can be enforced": doctorSays, ...enforced },
  foreign: {
    "a memory limit is refused with the reason and the way out": refused(
      { memoryBytes: 64 * MiB },
      /not delegated to this user/,
    ),
    "a CPU limit is refused with the reason and the way out": refused({ cpus: 0.5 }, /not delegated to this user/),
    "a process limit is refused with the reason and the way out": refused({ pids: 6 }, /not delegated to this user/),
    "the processes of all functions together are bounded": processesBoundedTogether,
  },
};

/** Creates a runner with this user's image store. */
export async function subjectOf(kind: Kind, image: string): Promise<Subject> {
  const dir = join(process.env["XDG_CACHE_HOME"] ?? "/tmp", "xfn");
  const runner = createRunner({ store: await openStore({ dir, owner: sandboxOwner() }) });
  const sh = async (script: string, options: RunOptions = {}): Promise<string> =>
    Buffer.from(await runner.run(image, Buffer.from(`${script}\n`), { timeoutMs: PATIENCE_MS, ...options })).toString(
      "utf8",
    );
  const failure = async (script: string, options: RunOptions = {}): Promise<RunnerError> => {
    const outcome = await sh(script, options).catch((error: unknown) => error);
    if (outcome instanceof RunnerError) return outcome;
    throw outcome instanceof Error ? outcome : new Error(`it succeeded: ${String(outcome)}`);
  };
  return { kind, runner, sh, failure };
}

// The cgroups of calls.
function groups(kind: Kind): string[] {
  const names = readdirSync(BASE[kind]).filter((name) => name.startsWith("xfn-") && name !== "xfn-supervisor");
  return names.map((name) => join(BASE[kind], name));
}

/** Waits for a running function and returns its cgroup. */
export async function untilRuns(kind: Kind): Promise<string> {
  for (;;) {
    const running = groups(kind).find((group) => text(join(group, "cgroup.procs")).trim().split("\n").length >= 2);
    if (running !== undefined) return running;
    await sleep(10);
  }
}

// The kernel removes killed processes from their cgroup with a delay.
async function untilGone(kind: Kind): Promise<void> {
  for (let attempt = 0; groups(kind).length > 0 && attempt < 200; attempt++) await sleep(50);
  deepEqual(
    groups(kind).map((group) => [group, ...members(group)]),
    [],
  );
}

function members(group: string): string[] {
  const pids = text(join(group, "cgroup.procs")).split("\n").filter(Boolean);
  return pids.map(
    (pid) =>
      `${pid} ${text(`/proc/${pid}/cmdline`).replaceAll("\0", " ")} ${/State:.*/.exec(text(`/proc/${pid}/status`))?.[0]}`,
  );
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
