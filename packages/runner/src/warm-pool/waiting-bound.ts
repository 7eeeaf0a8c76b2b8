import { LazyGroup } from "../cgroup/lazy-group.ts";
import { WaitingGroup } from "../cgroup/waiting-group.ts";
import { DEFAULT_WARM_POOL_LIMITS } from "./limits.ts";

/** Options of {@link waitingBound}. */
export interface WaitingBoundOptions {
  readonly memoryBytes: number | undefined;
  /** Whether sandboxes may wait without a limit if no cgroup can be created. */
  readonly allowUnlimited: boolean;
  /** Called once if sandboxes may not wait. */
  readonly onWarning: (message: string) => void;
}

/** The cgroup that limits waiting sandboxes; undefined if none may wait. */
export function waitingBound(options: WaitingBoundOptions): LazyGroup<WaitingGroup | "unbounded"> {
  const { memoryBytes = DEFAULT_WARM_POOL_LIMITS.memoryBytes, allowUnlimited, onWarning } = options;
  return new LazyGroup<WaitingGroup | "unbounded">(
    () => new WaitingGroup(memoryBytes),
    ({ message, remedy }) => {
      if (allowUnlimited) return "unbounded";
      onWarning(
        `no function is started before its call, because nothing would bound it while it waits: ${message}. Either ${remedy}; or start functions without that bound (--allow-unlimited); or set --warm-pool=off`,
      );
      return undefined;
    },
  );
}
