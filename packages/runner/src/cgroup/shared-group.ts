import { CGROUP_ROOT } from "./call-limits.ts";
import { createLimitCgroup, isVersion2, ownCgroups } from "./cgroups.ts";
import { nextGroupName } from "./group-name.ts";
import type { CgroupHost, LimitCgroup, Limits } from "./limit-cgroup.ts";
import { processTree } from "./process-tree.ts";

/** The limits of a {@link SharedGroup}: at least of memory. */
export type SharedLimits = Pick<Limits, "memoryBytes" | "cpus" | "killsOne"> & { memoryBytes: number };

/** A cgroup of many sandboxes, whose limits they share. It includes memory that no process maps. */
export class SharedGroup {
  readonly memoryBytes: number;
  readonly #group: LimitCgroup;
  readonly #isRoot: boolean;
  readonly #isVersion2: boolean;

  /** Makes the group. The sandbox host must be ready. @throws LimitUnavailableError */
  constructor(limits: SharedLimits, host: CgroupHost = thisHost()) {
    const group = createLimitCgroup(nextGroupName(), limits, host);
    // A limit of memory always makes a group.
    if (group === undefined) throw new TypeError("no cgroup was made");
    this.memoryBytes = limits.memoryBytes;
    this.#group = group;
    this.#isVersion2 = isVersion2(host.root);
    this.#isRoot = host.isRoot;
  }

  /** All `cgroup.procs` files of the group, relative to the cgroup root. */
  get allProcs(): readonly string[] {
    return this.#group.procs;
  }

  /**
   * The files that a sandbox joins which has `own` groups for its limits, if any. In a hierarchy where it has an own
   * group, that one bounds it.
   */
  procs(own: LimitCgroup | undefined): readonly string[] {
    const taken = new Set(own?.procs.map((file) => this.hierarchyOf(file)));
    return this.#group.procs.filter((file) => !taken.has(this.hierarchyOf(file)));
  }

  /**
   * Whether the memory of a sandbox with these limits is bounded. With version 2 a sandbox joins one group only. If its
   * limits need an own group, that one has a bound of memory only if the limits have.
   */
  bounds({ memoryBytes, cpus, pids }: Pick<Limits, "memoryBytes" | "cpus" | "pids">): boolean {
    if (!this.#isVersion2 || memoryBytes !== undefined) return true;
    return cpus === undefined && (pids === undefined || this.#isRoot);
  }

  /** How many of its processes the kernel has killed for lack of memory. */
  memoryKills(): number {
    return this.#group.memoryKills();
  }

  /** Kills what is in it, and removes the group. */
  remove(): void {
    this.#group.kill();
    this.#group.remove();
  }

  /** The hierarchy of a `cgroup.procs` file. Version 1 mounts each in a directory of its controller. */
  hierarchyOf(procs: string): string {
    return this.#isVersion2 ? "" : (procs.split("/")[0] ?? "");
  }

  /** Whether there is only one hierarchy. */
  get isVersion2(): boolean {
    return this.#isVersion2;
  }
}

/** The cgroups of this process. */
export function thisHost(): CgroupHost {
  return {
    root: CGROUP_ROOT,
    // Read each time: to make a group, this process may move into a leaf.
    get self() {
      return ownCgroups();
    },
    isRoot: process.geteuid?.() === 0,
    ownProcesses: () => processTree(process.pid),
  };
}
