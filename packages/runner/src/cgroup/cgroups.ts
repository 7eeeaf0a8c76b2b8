import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createV1 } from "./v1.ts";
import { createV2 } from "./v2.ts";

/** Limits of one call. */
export interface Limits {
  /** Bytes. */
  memoryBytes?: number | undefined;
  /** Cores, such as 0.25. */
  cpus?: number | undefined;
  /** Processes and threads, those of the OCI runtime included. */
  pids?: number | undefined;
  /**
   * Whether the call is refused where a cgroup cannot count its processes. Else RLIMIT_NPROC is enough (process-rlimit.ts), and
   * they are counted where that costs little.
   */
  mustCount?: boolean;
}

/** What was reached while a call ran. */
export interface LimitHits {
  /** The kernel killed something for lack of memory. */
  outOfMemory: boolean;
  /** The kernel refused to make a process or thread. */
  tooManyProcesses: boolean;
}

/** Nothing was reached, or nobody can tell. */
export const NO_HITS: LimitHits = { outOfMemory: false, tooManyProcesses: false };

/** The cgroups of one call. */
export interface LimitCgroup {
  /** `cgroup.procs` files of the groups that the container's first process joins, relative to the cgroup root. */
  procs: string[];
  /** Whether its processes are counted here, so that {@link hits} knows of one too many. */
  countsProcesses: boolean;
  hits(): LimitHits;
  /** SIGKILL to all that is in it at once, where the kernel can (version 2, Linux 5.14). */
  kill(): void;
  /** Takes it away: now if its processes have ended, else a moment later, once they have. */
  remove(): void;
}

/** Where cgroups are; tests pass their own. */
export interface CgroupHost {
  /** `/sys/fs/cgroup`. */
  root: string;
  /** The text of `/proc/self/cgroup`. */
  self: string;
  /** Whether we are root, who may also make groups at the top of a version 2 hierarchy. */
  isRoot: boolean;
  /** Processes that may be moved into a leaf so that controllers can be enabled above it: this one and all below it. */
  ownProcesses: () => number[];
}

/**
 * Makes cgroups with the given limits.
 *
 * @returns undefined where nothing but `pids` was asked for, and need not be counted
 * @throws LimitUnavailableError, having left nothing behind
 */
export function createLimitCgroup(name: string, limits: Limits, host: CgroupHost): LimitCgroup | undefined {
  return isVersion2(host.root) ? createV2(name, limits, host) : createV1(name, limits, host);
}

/** Whether version 2 alone is mounted there. */
export function isVersion2(root: string): boolean {
  return existsSync(join(root, "cgroup.controllers"));
}

/** This process's own groups, as `/proc/self/cgroup` has them. */
export function ownCgroups(): string {
  return readFileSync("/proc/self/cgroup", "utf8");
}
