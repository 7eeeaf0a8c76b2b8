/** The messages between the runner and the sandbox host, the small process that owns the namespaces. */

import type { RuntimeFamily } from "./runtime-family.ts";

/** The first message, sent once. */
export interface InitRequest {
  type: "init";
  /** An existing directory on which the sandbox host mounts its scratch tmpfs. */
  scratch: string;
}

/**
 * The config.json of later containers. It is sent once for many containers: it is larger than all other messages
 * together.
 */
export interface ConfigRequest {
  type: "config";
  /** 0 replaces all earlier texts. */
  number: number;
  /** Paths in the text are relative to the bundle, or come from {@link sharedRootfs} and {@link networkFiles}. */
  text: string;
}

/** Creates the root filesystem, the configuration and the pipes of one container. No process runs yet. */
export interface PrepareRequest {
  type: "prepare";
  id: string;
  /** Layer directories, bottom first. */
  layers: string[];
  /** `auto` tries an overlay and falls back to a copy. */
  rootfs: "auto" | "overlay" | "copy";
  /** Whether the root filesystem is read-only, with a separate writable directory. */
  readOnly: boolean;
  /** Name of the shared root filesystem, which must be read-only; null for a private one. */
  shared: string | null;
  /** Whether to mount {@link networkFiles}. */
  networkFiles: boolean;
  /** Owner of the layers and of the files created on top of them; null: the user of the sandbox host. */
  owner: { uid: number; gid: number } | null;
  /** Number of a {@link ConfigRequest}. */
  config: number;
  /** The largest size of the writable part, in bytes. */
  writableBytes: number;
}

/** A prepared container, and the OCI runtime that runs it. */
export interface ContainerRuntime {
  id: string;
  /** Absolute path of the OCI runtime. */
  runtime: string;
  runtimeFamily: RuntimeFamily;
  /** Whether the container has its own network namespace. */
  isolated: boolean;
}

/**
 * Loads the OCI runtime of a prepared container. Its process waits for the configuration, and no container exists yet.
 * Starting a process and loading its libraries takes a sixth of a small function's call. The runner must have opened
 * its ends of the pipes before.
 */
export interface LoadRequest extends ContainerRuntime {
  type: "load";
}

/**
 * Starts a prepared container, whether its runtime is loaded or not. The runner must have opened its ends of the pipes
 * before. The sandbox host closes its copies.
 */
export interface StartRequest extends ContainerRuntime {
  type: "start";
  /** `cgroup.procs` files, below /sys/fs/cgroup, of the cgroups that the container joins. */
  cgroupProcs: readonly string[];
  /**
   * Whether the runtime must exit as soon as the function runs, so that a call does not wait for the ends of both. A
   * loaded runtime ignores this.
   */
  detach: boolean;
  /** Whether to enlarge the stdio pipes to an ordinary user's maximum, for large inputs. */
  largePipes: boolean;
}

/**
 * Kills a container and all its processes. An `exited` response follows. A container that is only prepared is removed
 * without a response.
 */
export interface KillRequest {
  type: "kill";
  id: string;
}

/** Moves the processes of a pre-started container out of the cgroup of waiting containers. */
export interface MoveRequest {
  type: "move";
  id: string;
  /** As in {@link StartRequest}. */
  cgroupProcs: readonly string[];
}

/** Measures waiting containers. */
export interface MeasureRequest {
  type: "measure";
  ids: string[];
}

/** Connects to a TCP port of a running container. A `connection` response follows. */
export interface ConnectRequest {
  type: "connect";
  id: string;
  /** Number of the request. */
  number: number;
  port: number;
  /** Whether the container has its own network namespace. */
  isolated: boolean;
  /** Milliseconds within which a process must listen on the port. */
  timeoutMs: number;
}

export type HostRequest =
  | InitRequest
  | ConfigRequest
  | PrepareRequest
  | LoadRequest
  | StartRequest
  | KillRequest
  | MoveRequest
  | MeasureRequest
  | ConnectRequest;

/** Resource usage of one container. */
export interface Usage {
  id: string;
  /** Memory of its processes (proportional set size, or resident if the kernel does not report it) and of its files. */
  bytes: number;
  /** Processor time of its processes so far. */
  cpuMs: number;
}

/** The type of a root filesystem; `notice` says why it is not an overlay. */
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
  | ConnectResponse
  /**
   * `mayHaveRun`: whether the function may have begun; false if a loaded runtime ended before it created a container.
   * `code`: exit code of the function, or of its runtime; null if the runtime was killed.
   * `runtimeError`: the OCI runtime's error log if it failed to start the function.
   * `diskFull`: whether the writable part of the root filesystem was full.
   * `at`: time on {@link monotonicMs}.
   */
  | {
      type: "exited";
      id: string;
      mayHaveRun: boolean;
      at: number;
      code: number | null;
      runtimeError: string | null;
      diskFull: boolean;
    };

/** The socket comes with the message, unless a `reason` says why there is none. */
export interface ConnectResponse {
  type: "connection";
  number: number;
  reason?: "ended" | "notListening" | "failed";
  /** The cause of the failure. */
  message?: string;
}

/** The number of configurations that the sandbox host keeps. Beyond that they are sent again. */
export const MAX_CONFIGS = 256;

/** The largest total text of configurations that the sandbox host keeps, in characters. Its heap is 128 MiB. */
export const MAX_CONFIG_TEXT: number = 8 * 1024 * 1024;

/** The names of {@link sandboxPaths} that a config.json contains, relative to the bundle. */
export const bundlePaths = { rootfs: "rootfs", tmp: "tmp", dev: "dev" } as const;

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
  dev: string;
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
    dev: `${call}/${bundlePaths.dev}`,
    bundle: call,
    pidFile: `${call}/pid`,
    log: `${call}/log`,
  };
}

/** Path of the shared read-only root filesystem with a name. */
export function sharedRootfs(scratch: string, name: string): string {
  return `${scratch}/shared/${name}/rootfs`;
}

/** Paths of the files that `Accessible` functions see as /etc/resolv.conf and /etc/hosts. */
export function networkFiles(scratch: string): { resolvConf: string; hosts: string } {
  return { resolvConf: `${scratch}/resolv.conf`, hosts: `${scratch}/hosts` };
}

/** The machine's monotonic clock, which all its processes share, in milliseconds. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
