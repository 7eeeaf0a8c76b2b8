/** Limits of one call. */
export interface Limits {
  memoryBytes?: number | undefined;
  /** In cores, such as 0.25. */
  cpus?: number | undefined;
  /** Processes and threads, including those of the OCI runtime. */
  pids?: number | undefined;
  /**
   * Whether to fail if no cgroup can count processes. Otherwise RLIMIT_NPROC is enough (process-rlimit.ts), and a
   * cgroup counts them only where that is cheap.
   */
  mustCount?: boolean;
  /** Whether the kernel kills one process for lack of memory instead of the whole group, which many sandboxes share. */
  killsOne?: boolean;
}

/** The limits that a call reached. */
export interface LimitHits {
  /** The kernel killed a process for lack of memory. */
  outOfMemory: boolean;
  /** The kernel refused to create a process or thread. */
  tooManyProcesses: boolean;
}

/** No limit was reached, or the kernel does not record it. */
export const NO_HITS: LimitHits = { outOfMemory: false, tooManyProcesses: false };

/** The cgroups of one call. */
export interface LimitCgroup {
  /** `cgroup.procs` files of the groups that the container's first process joins, relative to the cgroup root. */
  procs: string[];
  /** Whether these groups count processes, so that {@link hits} can report that their limit was reached. */
  countsProcesses: boolean;
  hits(): LimitHits;
  /** The number of processes that the kernel has killed for lack of memory. */
  memoryKills(): number;
  /** Sends SIGKILL to all processes at once, if the kernel supports it (version 2, Linux 5.14). */
  kill(): void;
  /** Removes the groups: now if their processes have ended, otherwise shortly after they end. */
  remove(): void;
}

/** The cgroup hierarchy. Tests pass their own. */
export interface CgroupHost {
  /** `/sys/fs/cgroup`. */
  root: string;
  /** The text of `/proc/self/cgroup`. */
  self: string;
  /** Whether this process is root. Root may also create groups at the top of a version 2 hierarchy. */
  isRoot: boolean;
  /**
   * Processes that may be moved into a leaf so that controllers can be enabled above it: this process and its
   * descendants.
   */
  ownProcesses: () => number[];
}
