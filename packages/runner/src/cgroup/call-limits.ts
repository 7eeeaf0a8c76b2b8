import { type ResourceLimits, RunnerError } from "@xfn/runner-contract";
import { createLimitCgroup, ownCgroups } from "./cgroups.ts";
import { LimitUnavailableError } from "./files.ts";
import { nextGroupName } from "./group-name.ts";
import type { LimitCgroup } from "./limit-cgroup.ts";
import { MAX_PROCESSES, RUNTIME_TASKS } from "./process-rlimit.ts";
import { processTree } from "./process-tree.ts";

/** The mount point of cgroups. */
export const CGROUP_ROOT = "/sys/fs/cgroup";

/**
 * Creates the cgroups of one call for its limits and, where that is cheap, to count its processes. The sandbox host
 * must be ready: before that its processes cannot be distinguished from others in this process's group.
 *
 * @returns undefined if the call needs none
 * @throws RunnerError `LimitUnavailable`; with `allowUnlimited` calls `onWarning` instead
 */
export function limitCall(
  options: ResourceLimits,
  { allowUnlimited, onWarning }: { allowUnlimited: boolean; onWarning: (message: string) => void },
): LimitCgroup | undefined {
  const { memoryBytes, cpus, pids = MAX_PROCESSES } = options;
  const isRoot = process.geteuid?.() === 0;
  try {
    return createLimitCgroup(
      nextGroupName(),
      // RLIMIT_NPROC limits each of root's functions separately, but all functions of an ordinary user together.
      { memoryBytes, cpus, pids: pids + RUNTIME_TASKS, mustCount: options.pids !== undefined && !isRoot },
      {
        root: CGROUP_ROOT,
        self: ownCgroups(),
        isRoot,
        ownProcesses: () => processTree(process.pid),
      },
    );
  } catch (error) {
    if (!(error instanceof LimitUnavailableError)) throw error;
    if (allowUnlimited) {
      onWarning(`${error.message}; the call runs without it (--allow-unlimited)`);
      return undefined;
    }
    throw new RunnerError(
      "LimitUnavailable",
      `${error.message}. Either ${error.remedy}; or run without the limit (--allow-unlimited); \`xfn doctor\` reports which limits work here`,
      { phase: "start", retryable: false, cause: error },
    );
  }
}

/**
 * Whether a call with these limits needs cgroups. Creating, joining and removing a cgroup adds a third to a small
 * function's call. For root, RLIMIT_NPROC limits processes too, but only a cgroup records that the limit was reached,
 * which matters for low limits. For an ordinary user RLIMIT_NPROC limits the processes of all functions together.
 */
export function needsCgroup({ memoryBytes, cpus, pids }: ResourceLimits): boolean {
  if (memoryBytes !== undefined || cpus !== undefined) return true;
  return pids !== undefined && (pids < MAX_PROCESSES || process.geteuid?.() !== 0);
}
