import { readFileSync } from "node:fs";

/**
 * What of the OCI runtime is in a container's cgroup too: crun is at most three processes while it starts a container and
 * one afterwards; runc, a Go program, has about a dozen threads.
 */
export const RUNTIME_TASKS = 16;

/** Processes and threads that one function may have; Node and Go need a few dozen, a fork bomb needs more. */
export const MAX_PROCESSES = 1024;

/** More processes than any Linux can have (PID_MAX_LIMIT). */
const NO_BOUND = 2 ** 22;

/** Who runs functions: whether root, and the most that it may allow, which is its own hard limit. */
export interface RlimitUser {
  isRoot: boolean;
  hardLimit: number;
}

/**
 * RLIMIT_NPROC for a function that may have so many processes and threads.
 *
 * Where a cgroup counts them the limit only stands behind that, out of its way: only the cgroup can tell that it was
 * reached. Where none does it is the bound, counted per user namespace (Linux 5.14). For root that is the function's own. For
 * an ordinary user it is the one around it too, as crun sets its limits before it makes the function's
 * (create_user_ns in kernel/user_namespace.c keeps the limit that was in force): there it bounds all functions of a runner
 * together, and so leaves room for others beside this one.
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
  // Nobody but a true root may raise it, and a container whose limits cannot be set does not start.
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

/** The hard limit of processes in the text of /proc/PID/limits; no bound where it is `unlimited`. */
export function hardLimitOf(limits: string): number {
  return Number(/^Max processes\s+\S+\s+(\d+)/m.exec(limits)?.[1] ?? NO_BOUND);
}
