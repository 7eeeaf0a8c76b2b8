/** Messages between the runner and the sandbox host, the small process that holds the namespaces. */

import type { RuntimeFamily } from "./runtime-family.ts";

/** Sent once, first. */
export interface InitRequest {
  type: "init";
  /** An existing directory of the host on which the host process mounts its scratch tmpfs. */
  scratch: string;
}

/** The config.json of containers that follow. It is larger than all other messages together, and the same for many of them. */
export interface SpecRequest {
  type: "spec";
  /** Replaces an earlier one of that number. */
  number: number;
  /** Its paths are relative to the bundle, or come from {@link sharedRootfs} and {@link networkFiles}. */
  text: string;
}

/** Makes the root filesystem, the configuration and the pipes of one container. Nothing runs yet. */
export interface PrepareRequest {
  type: "prepare";
  id: string;
  /** Layer directories, bottom first. */
  layers: string[];
  /** `auto` tries an overlay and falls back to a copy. */
  rootfs: "auto" | "overlay" | "copy";
  /** The name of the read-only root filesystem that it shares with others; null for a writable one of its own. */
  shared: string | null;
  /** Whether {@link networkFiles} are to be mounted in it. */
  networkFiles: boolean;
  /** Who owns the layers, and so what is made on top of them, where it is not the host process itself. */
  owner: { uid: number; gid: number } | null;
  /** Which {@link SpecRequest} to take. */
  spec: number;
  /** Bound of the writable part, in bytes. */
  writableBytes: number;
}

/**
 * Loads the OCI runtime of a container that was prepared: its process waits for its configuration, and nothing of the container
 * exists. A process that begins and finds its libraries takes a sixth of a small function's call. The caller has opened its ends of
 * the pipes by now.
 */
export interface LoadRequest {
  type: "load";
  id: string;
  /** Absolute path of the OCI runtime. */
  runtime: string;
  runtimeFamily: RuntimeFamily;
}

/**
 * Starts a container that was prepared, whether its runtime is loaded or not. The caller has opened its ends of the pipes by now:
 * the host process closes its own.
 */
export interface StartRequest {
  type: "start";
  id: string;
  /** Absolute path of the OCI runtime. */
  runtime: string;
  runtimeFamily: RuntimeFamily;
  /** `cgroup.procs` files, below /sys/fs/cgroup, of the cgroups that the container joins. */
  cgroupProcs: string[];
  /**
   * Whether the runtime is to end as soon as the function runs, so that nobody waits for its end when the function has ended. One
   * that is loaded does not.
   */
  detach: boolean;
  /** Make the stdio pipes as large as an ordinary user may, for large inputs. */
  largePipes: boolean;
}

/** Kills a container and everything in it; `exited` follows. One that was only prepared is taken away without a word. */
export interface KillRequest {
  type: "kill";
  id: string;
}

/** Asks what containers take while they wait. */
export interface MeasureRequest {
  type: "measure";
  ids: string[];
}

export type HostRequest =
  | InitRequest
  | SpecRequest
  | PrepareRequest
  | LoadRequest
  | StartRequest
  | KillRequest
  | MeasureRequest;

/** What one container takes. */
export interface Usage {
  id: string;
  /** The memory of its processes (proportional set size; resident where that is not told) and of its files. */
  bytes: number;
  /** Processor time that they have used so far. */
  cpuMs: number;
}

/** How a root filesystem was made; `notice` says why it is not an overlay. */
export interface PreparedRoot {
  rootfs: "overlay" | "copy";
  notice?: string;
}

export type HostResponse =
  | { type: "ready" }
  | { type: "failed"; message: string }
  /** `fds` are descriptors of the host process: stdin (write), stdout (read), stderr (read). */
  | ({ type: "prepared"; id: string; fds: [number, number, number] } & PreparedRoot)
  | { type: "prepareFailed"; id: string; message: string }
  | { type: "startFailed"; id: string; message: string }
  | { type: "measured"; usages: Usage[] }
  /**
   * `seen` is whether the function may have begun: not where its runtime was loaded, and ended before it had made a container.
   * `code` is the function's exit code, or its runtime's; null where the runtime was killed. `runtimeError` is what crun itself had
   * to say, where it failed before or while starting the function; `diskFull` whether the writable part of the root filesystem had
   * no room left; `at` the time on {@link monotonicMs}.
   */
  | {
      type: "exited";
      id: string;
      seen: boolean;
      at: number;
      code: number | null;
      runtimeError: string | null;
      diskFull: boolean;
    };

/** How many configurations are kept: more images than this in use at once have theirs sent again. */
export const MAX_SPECS = 256;

/** The names of {@link sandboxPaths} that a configuration has, relative to the bundle. */
export const bundlePaths = { rootfs: "rootfs", tmp: "tmp" } as const;

/** Paths inside the scratch tmpfs; both sides derive them from the call's id. */
export function sandboxPaths(
  scratch: string,
  id: string,
): {
  call: string;
  rootfs: string;
  upper: string;
  work: string;
  tmp: string;
  bundle: string;
  pidFile: string;
  log: string;
} {
  const call = `${scratch}/calls/${id}`;
  return {
    call,
    rootfs: `${call}/${bundlePaths.rootfs}`,
    upper: `${call}/upper`,
    work: `${call}/work`,
    tmp: `${call}/${bundlePaths.tmp}`,
    bundle: call,
    pidFile: `${call}/pid`,
    log: `${call}/log`,
  };
}

/** Where the read-only root filesystem of that name is, for all that share it. */
export function sharedRootfs(scratch: string, name: string): string {
  return `${scratch}/shared/${name}/rootfs`;
}

/** Where the host process keeps the files that `Accessible` functions see as /etc/resolv.conf and /etc/hosts. */
export function networkFiles(scratch: string): { resolvConf: string; hosts: string } {
  return { resolvConf: `${scratch}/resolv.conf`, hosts: `${scratch}/hosts` };
}

/** The time on the clock that all processes of a machine share, in milliseconds. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
