import { LimitUnavailableError } from "../cgroup/files.ts";
import { WaitingGroup } from "../cgroup/waiting-group.ts";
import { DEFAULT_WARM_POOL_LIMITS } from "./limits.ts";

/** Options of a {@link WaitingBound}. */
export interface WaitingBoundOptions {
  readonly memoryBytes: number | undefined;
  /** Whether sandboxes may wait without a limit if no cgroup can be created. */
  readonly allowUnlimited: boolean;
  /** Called once if sandboxes may not wait. */
  readonly onWarning: (message: string) => void;
}

/** The cgroup of waiting sandboxes, which is created when the first sandbox is about to wait. */
export class WaitingBound {
  readonly #options: WaitingBoundOptions;
  #group: WaitingGroup | "unbounded" | "refused" | undefined;
  #closed = false;

  constructor(options: WaitingBoundOptions) {
    this.#options = options;
  }

  /** The group that limits waiting sandboxes; undefined if none may wait. Call it when the sandbox host is ready. */
  group(): WaitingGroup | "unbounded" | undefined {
    if (this.#closed) return undefined;
    this.#group ??= this.#make();
    return this.#group === "refused" ? undefined : this.#group;
  }

  close(): void {
    this.#closed = true;
    if (this.#group instanceof WaitingGroup) this.#group.remove();
  }

  #make(): WaitingGroup | "unbounded" | "refused" {
    const { memoryBytes = DEFAULT_WARM_POOL_LIMITS.memoryBytes, allowUnlimited, onWarning } = this.#options;
    try {
      return new WaitingGroup(memoryBytes);
    } catch (error) {
      if (!(error instanceof LimitUnavailableError)) throw error;
      if (allowUnlimited) return "unbounded";
      onWarning(
        `no function is started before its call, because nothing would bound it while it waits: ${error.message}. Either ${error.remedy}; or start functions without that bound (--allow-unlimited); or set --warm-pool=off`,
      );
      return "refused";
    }
  }
}
