/** Messages between the runner and the sandbox host, the small process that holds the namespaces. */

/** Sent once, first. */
export interface InitRequest {
  type: "init";
  /** An existing directory of the host on which the host process mounts its scratch tmpfs. */
  scratch: string;
}

/** Starts one container. */
export interface StartRequest {
  type: "start";
  id: string;
  /** Absolute path of crun. */
  runtime: string;
  /** Layer directories, bottom first. */
  layers: string[];
  /** `auto` tries an overlay and falls back to a copy. */
  rootfs: "auto" | "overlay" | "copy";
  /** Who owns the layers, and so what is made on top of them, where it is not the host process itself. */
  owner: { uid: number; gid: number } | null;
  /** The config.json text, whose paths come from {@link sandboxPaths}. */
  spec: string;
  /** Bound of the writable part, in bytes. */
  writableBytes: number;
  /** `cgroup.procs` files, below /sys/fs/cgroup, of the cgroups that the container joins. */
  cgroupProcs: string[];
  /** Make the stdio pipes as large as an ordinary user may, for large inputs. */
  largePipes: boolean;
}

/** The caller has opened its ends of the pipes (or gives up on them): the host process closes its own. */
export interface AttachedRequest {
  type: "attached";
  id: string;
}

/** Kills a container and everything in it. */
export interface KillRequest {
  type: "kill";
  id: string;
}

export type HostRequest = InitRequest | StartRequest | AttachedRequest | KillRequest;

export type HostResponse =
  | { type: "ready" }
  | { type: "failed"; message: string }
  /** `fds` are descriptors of the host process: stdin (write), stdout (read), stderr (read). */
  | { type: "started"; id: string; fds: [number, number, number]; rootfs: "overlay" | "copy"; notice?: string }
  | { type: "startFailed"; id: string; stage: "rootfs" | "spawn"; message: string }
  /**
   * `runtimeError` is what crun itself had to say, where it failed before or while starting the function; `diskFull` whether
   * the writable part of the root filesystem had no room left.
   */
  | {
      type: "exited";
      id: string;
      code: number | null;
      signal: number | null;
      runtimeError: string | null;
      diskFull: boolean;
    };

/** Paths inside the scratch tmpfs; both sides derive them from the call's id. */
export function sandboxPaths(
  scratch: string,
  id: string,
): { call: string; rootfs: string; upper: string; work: string; bundle: string; pidFile: string; log: string } {
  const call = `${scratch}/calls/${id}`;
  return {
    call,
    rootfs: `${call}/rootfs`,
    upper: `${call}/upper`,
    work: `${call}/work`,
    bundle: call,
    pidFile: `${call}/pid`,
    log: `${call}/log`,
  };
}

/** Where the host process keeps the files that `Accessible` functions see as /etc/resolv.conf and /etc/hosts. */
export function networkFiles(scratch: string): { resolvConf: string; hosts: string } {
  return { resolvConf: `${scratch}/resolv.conf`, hosts: `${scratch}/hosts` };
}
