import type { ResourceLimits } from "@xfn/runner-contract";
import { LimitUnavailableError } from "../cgroup/files.ts";
import type { CgroupHost } from "../cgroup/limit-cgroup.ts";
import { SharedGroup } from "../cgroup/shared-group.ts";

/** Options of a {@link ServersBound}. */
export interface ServersBoundOptions {
  /** In bytes. Undefined: no limit. */
  readonly memoryBytes: number | undefined;
  /** Called once if no cgroup can be created. */
  readonly onWarning: (message: string) => void;
  /** Default: the cgroups of this process. */
  readonly host?: CgroupHost;
}

/** The cgroup of the servers without a memory limit of their own. It is created for the first such server. */
export class ServersBound {
  readonly #options: ServersBoundOptions;
  #group: SharedGroup | "none" | undefined;
  #closed = false;

  constructor(options: ServersBoundOptions) {
    this.#options = options;
  }

  /** The group that a server joins; undefined if there is no limit. Call it when the sandbox host is ready. */
  group(): SharedGroup | undefined {
    if (this.#closed) return undefined;
    this.#group ??= this.#make();
    return this.#group === "none" ? undefined : this.#group;
  }

  /**
   * The limits of a server's own cgroups. They include the shared limit if they would keep the server out of the group.
   */
  limitsOf(limits: ResourceLimits): ResourceLimits {
    const group = this.group();
    return group === undefined || group.bounds(limits) ? limits : { ...limits, memoryBytes: group.memoryBytes };
  }

  close(): void {
    this.#closed = true;
    if (this.#group instanceof SharedGroup) this.#group.remove();
  }

  #make(): SharedGroup | "none" {
    const { memoryBytes, onWarning, host } = this.#options;
    if (memoryBytes === undefined) return "none";
    try {
      // The kernel kills the largest server, and does not affect the others.
      return new SharedGroup({ memoryBytes, killsOne: true }, host);
    } catch (error) {
      if (!(error instanceof LimitUnavailableError)) throw error;
      onWarning(
        `nothing bounds the memory of functions that are servers: ${error.message}. To bound it, ${error.remedy}`,
      );
      return "none";
    }
  }
}
