import { type ResourceLimits, RunnerError } from "@xfn/runner-contract";
import { createLimitCgroup, ownCgroups } from "./cgroups.ts";
import { LimitUnavailableError } from "./files.ts";
import { nextGroupName } from "./group-name.ts";
import type { LimitCgroup } from "./limit-cgroup.ts";
import { MAX_PROCESSES, RUNTIME_TASKS } from "./process-rlimit.ts";
import { processTree } from "./process-tree.ts";

/** Where the kernel shows cgroups. */
export const CGROUP_ROOT = "/sys/fs/cgroup";

/**
 * Makes the cgroups of one call, for the limits that it asks for and, where that costs next to nothing, to count its
 * processes. The sandbox host must be ready: before that its processes cannot be told from others of our group.
 *
 * @returns undefined where the call needs none
 * @throws RunnerError `LimitUnavailable`, unless limits may be left out (`allowUnlimited`), of which `onWarning` is told
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
      // RLIMIT_NPROC holds each of root's functions to its own number, and an ordinary user's all together to one.
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
      onWarning(`${error.message}; running without it, as asked`);
      return undefined;
    }
    throw new RunnerError(
      "LimitUnavailable",
      `${error.message}. Either ${error.remedy}; or run without the limit (--allow-unlimited); \`xfn doctor\` says which limits hold here`,
      { phase: "start", retryable: false, cause: error },
    );
  }
}
