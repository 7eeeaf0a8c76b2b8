import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import type { ResourceLimits } from "@xfn/runner-contract";
import type { CgroupHost, LimitCgroup } from "./limit-cgroup.ts";
import { SharedGroup, thisHost } from "./shared-group.ts";
import { baseV1 } from "./v1.ts";
import { ownGroupV2 } from "./v2.ts";

const MIN_CPUS = 0.5;

/**
 * The cgroups that a sandbox joins before its function starts, and the cgroups to which it moves when its call has
 * begun.
 */
export interface WaitingPlace {
  /** `cgroup.procs` files, relative to the cgroup root. */
  readonly procs: readonly string[];
  readonly home: readonly string[];
}

/**
 * The cgroup of all pre-started sandboxes. The kernel limits their memory and processor time together. That includes
 * memory that no process maps, and processes that have ended.
 */
export class WaitingGroup {
  readonly #group: SharedGroup;
  /** The group of unlimited calls, by the `cgroup.procs` file that a waiting sandbox joins. */
  readonly #home: ReadonlyMap<string, string>;

  /** Creates the group. The sandbox host must be ready. @throws LimitUnavailableError */
  constructor(memoryBytes: number, host: CgroupHost = thisHost()) {
    // Enough to start functions quickly, but never the whole machine.
    const cpus = Math.max(MIN_CPUS, availableParallelism() / 2);
    this.#group = new SharedGroup({ memoryBytes, cpus }, host);
    this.#home = new Map(this.#group.allProcs.map((procs) => [procs, this.#homeOf(procs, host)]));
  }

  /**
   * The place of a waiting sandbox, given the `own` groups for its call's limits, if any. In a hierarchy where the
   * sandbox has its own group, that group limits it.
   */
  place(own: LimitCgroup | undefined): WaitingPlace {
    const procs = this.#group.procs(own);
    return { procs, home: procs.flatMap((file) => this.#home.get(file) ?? []) };
  }

  /** Whether the memory of a sandbox with these settings is limited while it waits. */
  bounds(limits: ResourceLimits): boolean {
    return this.#group.bounds(limits);
  }

  /** Kills waiting sandboxes, and removes the group. */
  remove(): void {
    this.#group.remove();
  }

  #homeOf(procs: string, host: CgroupHost): string {
    const group = this.#group;
    const home = group.isVersion2 ? ownGroupV2(host) : baseV1(group.hierarchyOf(procs), host);
    return join(relative(host.root, home ?? host.root), "cgroup.procs");
  }
}
