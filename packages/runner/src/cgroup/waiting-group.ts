import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
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
export class WaitingGroup extends SharedGroup {
  /** The group of unlimited calls, by the `cgroup.procs` file that a waiting sandbox joins. */
  readonly #home: ReadonlyMap<string, string>;

  /** Creates the group. The sandbox host must be ready. @throws LimitUnavailableError */
  constructor(memoryBytes: number, host: CgroupHost = thisHost()) {
    // Enough to start functions quickly, but never the whole machine.
    const cpus = Math.max(MIN_CPUS, availableParallelism() / 2);
    super({ memoryBytes, cpus }, host);
    this.#home = new Map(this.allProcs.map((procs) => [procs, this.#homeOf(procs, host)]));
  }

  /**
   * The place of a waiting sandbox, given the `own` groups for its call's limits, if any. In a hierarchy where the
   * sandbox has its own group, that group limits it.
   */
  place(own: LimitCgroup | undefined): WaitingPlace {
    const procs = this.procs(own);
    return { procs, home: procs.flatMap((file) => this.#home.get(file) ?? []) };
  }

  #homeOf(procs: string, host: CgroupHost): string {
    const home = this.isVersion2 ? ownGroupV2(host) : baseV1(this.hierarchyOf(procs), host);
    return join(relative(host.root, home ?? host.root), "cgroup.procs");
  }
}
