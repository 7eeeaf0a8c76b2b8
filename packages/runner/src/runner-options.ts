import type { ImageOptions, Store } from "@xfn/oci-rootfs";
import type { FunctionHost, FunctionRunner, ResourceLimits } from "@xfn/runner-contract";
import type { WarmPoolLimits, WarmPoolPolicy } from "./warm-pool/limits.ts";
import type { RunnerEvent } from "./warm-pool/runner-event.ts";

/** Options of `createRunner`; only `store` is required. */
export interface RunnerOptions {
  /**
   * The image store. Open it with `owner: sandboxOwner()`, and for this runner only: the runner releases images that
   * it no longer uses.
   */
  store: Store;
  /** Name or absolute path of the OCI runtime; default `crun`. */
  ociRuntime?: string | undefined;
  /** `auto` (default): an overlay on the image's layers, or a copy of them if the host refuses overlays. */
  rootfs?: "auto" | "overlay" | "copy" | undefined;
  /**
   * Mounts one read-only root filesystem per image, and a small tmpfs on /tmp. This is faster, if functions write
   * nowhere else. Default false.
   */
  readOnlyRoot?: boolean | undefined;
  /**
   * Starts functions before they are called; each still serves one call. Default `off`, for programs that make few
   * calls. Use `adaptive` in servers.
   */
  warmPool?: WarmPoolPolicy | undefined;
  /** Bounds of the warm pool, over all images. Idle servers of functions count too. */
  warmPoolLimits?: WarmPoolLimits | undefined;
  /** Ends the server of a function that was not used for so long. Milliseconds; default five minutes. */
  serverIdleMs?: number | undefined;
  /** Number of servers of functions at a time; default no bound. A further one fails with `TooManyServers`. */
  maxServers?: number | undefined;
  /**
   * Memory of all servers without a limit of their own together, in bytes. The kernel enforces it, where it lets this
   * process make cgroups. Default: no bound.
   */
  serversMemoryBytes?: number | undefined;
  /** The largest output of a function, in bytes. Default 16 MiB; at most 100 MiB. */
  maxOutputBytes?: number | undefined;
  /** Runs functions of `type: Chroot`, which isolates nothing but files and users. Default false. */
  allowChroot?: boolean | undefined;
  /** Runs calls without a limit that cannot be enforced, with a warning, instead of failing them. */
  allowUnlimited?: boolean | undefined;
  /**
   * Ends a call with `Timeout` if its image is not pulled and its container not started after so many milliseconds.
   * Default: no bound besides the call's `signal`.
   */
  startTimeoutMs?: number | undefined;
  /** Passed to `Store.image` for every call. */
  images?: Omit<ImageOptions, "pullPolicy" | "auth" | "signal"> | undefined;
  /**
   * Releases an image for pruning after so many milliseconds without a call or a waiting sandbox. Default ten
   * minutes, which is also the minimum with `readOnlyRoot`, whose mounts stay for five.
   */
  imageIdleMs?: number | undefined;
  /** Called once for each warning that ends no call. `about` is set if `xfn doctor` reports the same. */
  onWarning?: ((message: string, about?: "host") => void) | undefined;
  /** Called for each event, for metrics. */
  onEvent?: ((event: RunnerEvent) => void) | undefined;
}

/**
 * Runs functions, each call in one fresh container, and serves functions that are gRPC servers. Both reject with a
 * `RunnerError`. When `run` settles, every process of the container is gone; its files and mounts follow at once.
 */
export interface Runner extends FunctionRunner, FunctionHost {
  /** Starts the sandbox host ahead of the first call. */
  prepare(): void;
  /**
   * Runs a small built-in program in a container, without an image, to test whether functions can run here.
   *
   * With `allowChroot` a host on which only functions in chroots can run is enough.
   *
   * @param limits also tests that the host can enforce these
   * @throws RunnerError with the reason
   */
  check(limits?: ResourceLimits): Promise<void>;
  /** Calls that have a sandbox or are about to, and pre-started sandboxes. */
  counts(): { running: number; waiting: number };
  /** Servers of functions: all, and those that no caller uses. */
  servers(): { count: number; idle: number };
  /** Ends running calls with `Closed`, and the sandbox host. */
  close(): Promise<void>;
}
