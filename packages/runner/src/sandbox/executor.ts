import type { Image } from "@xfn/oci-rootfs";
import type { RunOptions } from "@xfn/runner-contract";
import type { HostLease } from "./host-lease.ts";
import type { StartDeadline } from "./start-deadline.ts";

/** A call whose image is available. */
export interface ExecutorCall {
  readonly input: Uint8Array;
  readonly options: RunOptions;
  /** Limits the time until the executor calls `met`. */
  readonly deadline: StartDeadline;
  /** The result of {@link Executor.acquireHost}; a lease on nothing without it. */
  readonly host: HostLease;
}

/** Runs the functions of one type. */
export interface Executor {
  /** Checks a call before its image is pulled. @throws RunnerError */
  permit?(options: RunOptions): void;
  /** Starts the sandbox host that functions of this type need, while the image of a call is pulled. */
  acquireHost?(): HostLease;
  /** Runs one function to its end. @throws RunnerError */
  run(image: Image, call: ExecutorCall): Promise<Uint8Array>;
}
