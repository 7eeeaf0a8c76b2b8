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
   * Mounts one read-only root filesystem per image, and a small tmpfs on /tmp. This is faster, but functions can write
   * only to /tmp. Default false.
   */
  readOnlyRoot?: boolean | undefined;
  /**
   * Starts functions before they are called; each still serves one call. Default `off`, for programs that make few
   * calls. Servers should use `adaptive`.
   */
  warmPool?: WarmPoolPolicy | undefined;
  /** Limits of the warm pool, over all images. Idle servers of functions count too. */
  warmPoolLimits?: WarmPoolLimits | undefined;
  /** Idle timeout of a function's server, in milliseconds. Default: five minutes. */
  serverIdleMs?: number | undefined;
  /** The largest number of function servers. A further server fails with `TooManyServers`. Default: no limit. */
  maxServers?: number | undefined;
  /**
   * The total memory of all servers without a limit of their own, in bytes. The kernel enforces it, if this process can
   * create cgroups. Default: no limit.
   */
  serversMemoryBytes?: number | undefined;
  /** The largest output of a function, in bytes. Default 16 MiB; at most 100 MiB. */
  maxOutputBytes?: number | undefined;
  /** Runs functions of `type: Chroot`, which isolates only files and users. Default false. */
  allowChroot?: boolean | undefined;
  /** Whether to run a call with a limit that cannot be enforced, with a warning, instead of failing it. */
  allowUnlimited?: boolean | undefined;
  /**
   * Fails a call with `Timeout` if its image is not pulled and its container not started after this many milliseconds.
   * Default: no limit apart from the call's `signal`.
   */
  startTimeoutMs?: number | undefined;
  /** Passed to `Store.image` for every call. */
  images?: Omit<ImageOptions, "pullPolicy" | "auth" | "signal"> | undefined;
  /**
   * Releases an image for pruning after this many milliseconds without a call or a waiting sandbox. Default ten
   * minutes, which is also the minimum with `readOnlyRoot`, whose mounts stay for five.
   */
  imageIdleMs?: number | undefined;
  /** Called once for each warning that does not end a call. `about` is set if `xfn doctor` reports the same. */
  onWarning?: ((message: string, about?: "host") => void) | undefined;
  /** Called for each event; for metrics. */
  onEvent?: ((event: RunnerEvent) => void) | undefined;
}

/**
 * Runs functions, each call in one fresh container, and serves functions that are gRPC servers. Both reject with a
 * `RunnerError`. When `run` settles, every process of the container is gone; its files and mounts follow at once.
 */
export interface Runner extends FunctionRunner, FunctionHost {
  /** Starts the sandbox host before the first call. */
  prepare(): void;
  /**
   * Runs a small built-in program in a container, without an image, to test whether functions can run here.
   *
   * With `allowChroot`, a host that can only run functions in chroots passes.
   *
   * @param limits also tests that the host can enforce these
   * @throws RunnerError with the reason
   */
  check(limits?: ResourceLimits): Promise<void>;
  /** The number of calls that have or are about to get a sandbox, and the number of pre-started sandboxes. */
  counts(): { running: number; waiting: number };
  /** The number of function servers, and the number of those that no caller uses. */
  servers(): { count: number; idle: number };
  /** Ends running calls with `Closed`, and then the sandbox host. */
  close(): Promise<void>;
}
