import type { ResourceLimits } from "@xfn/runner-contract";
import { LazyGroup } from "../cgroup/lazy-group.ts";
import type { CgroupHost } from "../cgroup/limit-cgroup.ts";
import { SharedGroup } from "../cgroup/shared-group.ts";

/** Options of {@link serversBound}. */
export interface ServersBoundOptions {
  /** In bytes. Undefined: no limit. */
  readonly memoryBytes: number | undefined;
  /** Called once if no cgroup can be created. */
  readonly onWarning: (message: string) => void;
  /** Default: the cgroups of this process. */
  readonly host?: CgroupHost;
}

/** The cgroup of the servers without a memory limit of their own; undefined if there is no limit. */
export function serversBound({ memoryBytes, onWarning, host }: ServersBoundOptions): LazyGroup<SharedGroup> {
  return new LazyGroup<SharedGroup>(
    // The kernel kills the largest server, and does not affect the others.
    () => (memoryBytes === undefined ? undefined : new SharedGroup({ memoryBytes, killsOne: true }, host)),
    ({ message, remedy }) => {
      onWarning(`nothing bounds the memory of functions that are servers: ${message}. To bound it, ${remedy}`);
      return undefined;
    },
  );
}

/** The limits of a server's own cgroups. They include the group's limit if they would keep the server out of it. */
export function limitsOfServer(limits: ResourceLimits, group: SharedGroup | undefined): ResourceLimits {
  return group === undefined || group.bounds(limits) ? limits : { ...limits, memoryBytes: group.memoryBytes };
}
