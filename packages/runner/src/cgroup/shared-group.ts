import { CGROUP_ROOT } from "./call-limits.ts";
import { createLimitCgroup, isVersion2, ownCgroups } from "./cgroups.ts";
import { nextGroupName } from "./group-name.ts";
import type { CgroupHost, LimitCgroup, Limits } from "./limit-cgroup.ts";
import { processTree } from "./process-tree.ts";

/** The limits of a {@link SharedGroup}, which include memory. */
export type SharedLimits = Pick<Limits, "memoryBytes" | "cpus" | "killsOne"> & { memoryBytes: number };

/** A cgroup of many sandboxes, which share its limits. It also counts memory that no process maps. */
export class SharedGroup {
  readonly memoryBytes: number;
  readonly #group: LimitCgroup;
  readonly #isRoot: boolean;
  protected readonly isVersion2: boolean;

  /** Creates the group. The sandbox host must be ready. @throws LimitUnavailableError */
  constructor(limits: SharedLimits, host: CgroupHost = thisHost()) {
    const group = createLimitCgroup(nextGroupName(), limits, host);
    // A memory limit always requires a group.
    if (group === undefined) throw new TypeError("no cgroup was made");
    this.memoryBytes = limits.memoryBytes;
    this.#group = group;
    this.isVersion2 = isVersion2(host.root);
    this.#isRoot = host.isRoot;
  }

  /** All `cgroup.procs` files of the group, relative to the cgroup root. */
  protected get allProcs(): readonly string[] {
    return this.#group.procs;
  }

  /**
   * The files that a sandbox joins, given the `own` groups for its limits, if any. In a hierarchy where the sandbox has
   * its own group, that group limits it.
   */
  procs(own: LimitCgroup | undefined): readonly string[] {
    const taken = new Set(own?.procs.map((file) => this.hierarchyOf(file)));
    return this.#group.procs.filter((file) => !taken.has(this.hierarchyOf(file)));
  }

  /**
   * Whether the memory of a sandbox with these settings is limited. With version 2 a sandbox joins only one group. If
   * it requires its own group, that group limits memory only if `memoryBytes` is set.
   */
  bounds({ memoryBytes, cpus, pids }: Pick<Limits, "memoryBytes" | "cpus" | "pids">): boolean {
    if (!this.isVersion2 || memoryBytes !== undefined) return true;
    return cpus === undefined && (pids === undefined || this.#isRoot);
  }

  /** The number of its processes that the kernel has killed for lack of memory. */
  memoryKills(): number {
    return this.#group.memoryKills();
  }

  /** Kills all processes in the group, and removes the group. */
  remove(): void {
    this.#group.kill();
    this.#group.remove();
  }

  /** The hierarchy of a `cgroup.procs` file. Version 1 mounts each hierarchy in a directory of its controller. */
  protected hierarchyOf(procs: string): string {
    return this.isVersion2 ? "" : (procs.split("/")[0] ?? "");
  }
}

/** The cgroups of this process. */
export function thisHost(): CgroupHost {
  return {
    root: CGROUP_ROOT,
    // Read each time: this process may move into a leaf when it creates a group.
    get self() {
      return ownCgroups();
    },
    isRoot: process.geteuid?.() === 0,
    ownProcesses: () => processTree(process.pid),
  };
}
