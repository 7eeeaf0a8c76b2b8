import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "@xfn/oci-rootfs";
import type { Runner, RunOptions } from "@xfn/runner";
import { createRunner, RunnerError, sandboxOwner } from "@xfn/runner";

// What is to hold on a host with cgroup v2 alone, told once for each kind of user. Run inside of the virtual machine by
// run-checks.ts; outside, the test takes the names from here.

/** Who runs functions, and in which group: see guest.sh. */
export type Kind = "root" | "delegated" | "foreign";

/** What a story is given. */
export interface Teller {
  kind: Kind;
  /** Runs a shell script as a function. */
  sh(script: string, options?: RunOptions): Promise<string>;
  /** Runs one that is to fail. */
  failure(script: string, options?: RunOptions): Promise<RunnerError>;
  runner: Runner;
}

type Story = (teller: Teller) => Promise<void>;

// The groups of guest.sh. Two kinds are told at the same time.
const BASE: Record<Kind, string> = {
  root: "/sys/fs/cgroup/service",
  delegated: "/sys/fs/cgroup/user.slice/delegated",
  foreign: "/sys/fs/cgroup/user.slice/foreign",
};
const MiB = 1024 * 1024;

const memoryKills: Story = async ({ sh, failure }) => {
  const options = { memoryBytes: 24 * MiB };
  const error = await failure("a=x; while :; do a=$a$a; done", options);
  deepEqual([error.code, error.phase], ["OutOfMemory", "run"]);
  equal(await sh("echo enough", options), "enough\n");
};

const memoryKillsWhole: Story = async ({ failure }) => {
  // The shell would go on and succeed after the death of its child: with memory.oom.group it cannot.
  const error = await failure("(a=x; while :; do a=$a$a; done); echo went on", { memoryBytes: 24 * MiB });
  equal(error.code, "OutOfMemory");
};

const cpuSlows: Story = async ({ kind, failure }) => {
  const seen = new AbortController();
  const call = failure("while :; do :; done", { cpus: 0.2, timeoutMs: 60_000, signal: seen.signal });
  const group = await untilRuns(kind);
  equal(text(join(group, "cpu.max")).trim(), "20000 100000");
  while (!/^nr_throttled [1-9]/m.test(text(join(group, "cpu.stat")))) await sleep(10);
  seen.abort();
  equal((await call).code, "Aborted");
};

// More than the six that are allowed and the few of crun that may be in the group as well.
const many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do sleep 60 & done";

const processesRefused: Story = async ({ sh, failure }) => {
  const options = { pids: 6, memoryBytes: 64 * MiB };
  const error = await failure(`${many}; exit 3`, options);
  // Before the words on stderr are looked at: the cgroup counted it.
  equal(error.code, "TooManyProcesses");
  match(error.message, /after it was refused/);
  equal(await sh("sleep 0 & sleep 0 & wait; echo few", options), "few\n");
};

// Without any other limit: counted in a group where an ordinary user's runner can make one, by RLIMIT_NPROC for root.
const processesRefusedAlone: Story = async ({ failure }) => {
  const error = await failure(`${many}; exit 3`, { pids: 6 });
  equal(error.code, "TooManyProcesses");
};

// Counted together with those of all functions of this user, and so with room for others.
const processesBoundedTogether: Story = async ({ sh }) => {
  const [, soft, hard] = /^Max processes +(\d+) +(\d+)/m.exec(await sh("cat /proc/self/limits")) ?? [];
  ok(Number(soft) < 4_096 && soft === hard, `${soft} ${hard}`);
};

const deadlineKills: Story = async ({ failure }) => {
  const error = await failure("trap '' TERM; (sleep 600 &) ; sleep 600", { memoryBytes: 64 * MiB, timeoutMs: 500 });
  equal(error.code, "Timeout");
};

const nothingLeft: Story = async ({ kind, runner }) => {
  await runner.close();
  await untilGone(kind);
};

/** Where a runner that killed itself (run-checks.ts) says which group it left. */
export const leftFile = (kind: string): string => `/run/tests/left-${kind}`;

const sweptAfterKill: Story = async ({ kind, runner }) => {
  // Its processes went with it. Its group has nobody who could take it away.
  const group = text(leftFile(kind));
  ok(groups(kind).includes(group), `the killed runner left no group (${group}): this story proves nothing`);
  runner.prepare();
  await untilGone(kind);
};

const refused =
  (limit: RunOptions, reason: RegExp): Story =>
  async ({ failure }) => {
    const error = await failure("echo ran", limit);
    deepEqual([error.code, error.phase, error.retryable], ["LimitUnavailable", "start", false]);
    match(error.message, reason);
    match(error.message, /systemd-run --user --scope -p Delegate=yes/);
  };

const doctorSays: Story = async ({ kind }) => {
  // Written by guest.sh: doctor judges the group that it is alone in.
  const report = text(`/run/doctor-${kind}.json`);
  ok(report.startsWith("{"), `no report: ${report}`);
  const { checks } = JSON.parse(report) as { checks: { id: string; status: string; detail: string }[] };
  const statuses = ["limits", "process-limit"].map((name) => checks.find(({ id }) => id === name)?.status);
  deepEqual(statuses, ["ok", "ok"], report);
};

const enforced: Record<string, Story> = {
  "no group is left after kill -9 of a runner and the start of another": sweptAfterKill,
  "a function over its memory limit is killed and told so": memoryKills,
  "a function one of whose processes is over its memory limit is killed whole": memoryKillsWhole,
  "a cpu limit is in cpu.max of the running function's group, and slows it": cpuSlows,
  "a function that makes too many processes is refused them and told so": processesRefused,
  "processes are bounded where no other limit is asked for": processesRefusedAlone,
  "a deadline kills what is in the group": deadlineKills,
  "no group is left after these calls and the end of the runner": nothingLeft,
};

/** The stories of each kind of user, in their order. */
export const stories: Record<Kind, Record<string, Story>> = {
  root: enforced,
  delegated: { "doctor says that limits can be enforced": doctorSays, ...enforced },
  foreign: {
    "a memory limit is refused, with the reason and the way out": refused(
      { memoryBytes: 64 * MiB },
      /not delegated to this user/,
    ),
    "a cpu limit is refused, with the reason and the way out": refused({ cpus: 0.5 }, /not delegated to this user/),
    "a limit of processes is refused, with the reason and the way out": refused(
      { pids: 6 },
      /not delegated to this user/,
    ),
    "processes are bounded all the same, those of all functions together": processesBoundedTogether,
  },
};

/** A runner over this user's images. */
export async function tellerFor(kind: Kind, image: string): Promise<Teller> {
  const owner = sandboxOwner();
  const dir = join(process.env["XDG_CACHE_HOME"] ?? "/tmp", "xfn");
  const runner = createRunner({ store: await openStore({ dir, ...(owner === undefined ? {} : { owner }) }) });
  const sh = async (script: string, options: RunOptions = {}): Promise<string> =>
    Buffer.from(await runner.run(image, Buffer.from(`${script}\n`), options)).toString("utf8");
  const failure = async (script: string, options: RunOptions = {}): Promise<RunnerError> => {
    const outcome = await sh(script, options).catch((error: unknown) => error);
    if (outcome instanceof RunnerError) return outcome;
    throw outcome instanceof Error ? outcome : new Error(`it succeeded: ${String(outcome)}`);
  };
  return { kind, runner, sh, failure };
}

// The groups of calls.
function groups(kind: Kind): string[] {
  const names = readdirSync(BASE[kind]).filter((name) => name.startsWith("xfn-") && name !== "xfn-supervisor");
  return names.map((name) => join(BASE[kind], name));
}

/** The group of a function that runs, as soon as there is one. */
export async function untilRuns(kind: Kind): Promise<string> {
  for (;;) {
    const running = groups(kind).find((group) => text(join(group, "cgroup.procs")).trim().split("\n").length >= 2);
    if (running !== undefined) return running;
    await sleep(10);
  }
}

// The kernel takes killed processes out of their group a moment later.
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
