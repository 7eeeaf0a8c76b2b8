import { readFileSync } from "node:fs";

/**
 * Tasks of the OCI runtime in a container's cgroup: crun has at most three processes while it starts a container, and
 * one afterwards. runc is a Go program, and has about a dozen threads.
 */
export const RUNTIME_TASKS = 16;

/**
 * The largest number of processes and threads of one function. Node and Go need a few dozen, a fork bomb needs more.
 */
export const MAX_PROCESSES = 1024;

/** More processes than any Linux supports (PID_MAX_LIMIT). */
const NO_BOUND = 2 ** 22;

/** The user that runs functions, and its hard limit of processes. */
export interface RlimitUser {
  isRoot: boolean;
  hardLimit: number;
}

/**
 * RLIMIT_NPROC for a function with a limit of processes and threads.
 *
 * If a cgroup counts them, RLIMIT_NPROC must be higher, because only the cgroup records that its limit was reached.
 * Otherwise RLIMIT_NPROC is the limit, counted per user namespace (Linux 5.14). For root that is the function's
 * namespace. For an ordinary user the surrounding namespace counts too: crun sets limits before it creates the
 * function's namespace, and create_user_ns in kernel/user_namespace.c preserves the limit. There it limits all
 * functions of a runner together, so it leaves room for others.
 */
export function processRlimit(
  pids: number,
  cgroup: { countsProcesses: boolean } | undefined,
  user: RlimitUser = currentUser(),
): number {
  const counted = cgroup?.countsProcesses === true;
  const wanted = user.isRoot
    ? pids + (counted ? RUNTIME_TASKS : 0)
    : counted
      ? NO_BOUND
      : pids + RUNTIME_TASKS + MAX_PROCESSES;
  // Only root of the initial user namespace may raise it, and a container whose limits cannot be set does not start.
  return Math.min(wanted, user.hardLimit);
}

let known: RlimitUser | undefined;

function currentUser(): RlimitUser {
  known ??= {
    isRoot: process.geteuid?.() === 0,
    hardLimit: hardLimitOf(readFileSync("/proc/self/limits", "utf8")),
  };
  return known;
}

/** The hard limit of processes in the text of /proc/PID/limits; {@link NO_BOUND} if it is `unlimited`. */
export function hardLimitOf(limits: string): number {
  return Number(/^Max processes\s+\S+\s+(\d+)/m.exec(limits)?.[1] ?? NO_BOUND);
}
