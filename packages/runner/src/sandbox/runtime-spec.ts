import { MAX_PROCESSES } from "../cgroup/process-rlimit.ts";
import type { RuntimeFamily } from "../host/runtime-family.ts";
import { seccompFields } from "../seccomp/seccomp.ts";
import { MAX_OPEN_FILES } from "./limits.ts";
import type { HostId } from "./sandbox-owner.ts";

/** What the image asks for, resolved: the input of {@link runtimeSpec}. */
export interface ProcessConfig {
  args: readonly string[];
  env: readonly string[];
  cwd: string;
  user: { uid: number; gid: number };
  /** Default `function`. */
  hostname?: string;
}

/** What {@link runtimeSpec} needs besides the process. */
export interface SandboxOptions {
  network: "Isolated" | "Accessible";
  /** Which runtime will read it; default: any. */
  runtime?: RuntimeFamily;
  /** The id that owns the layers, as the user namespace that crun starts from sees it. */
  owner: HostId;
  /** The root filesystem: absolute, or relative to the bundle. */
  rootfs: string;
  /** RLIMIT_NPROC; default {@link MAX_PROCESSES}. */
  pids?: number;
  /** Where `resolv.conf` and `hosts` lie, for `Accessible`. */
  networkFiles: { resolvConf: string; hosts: string };
  /** Set for a root filesystem that is shared and read-only: the directory, of a bounded size, that is /tmp. */
  readOnlyRoot?: { tmp: string };
}

// The paths that docker, podman and runc mask: each has leaked or changed host state in the past.
const maskedPaths = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
];
const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

// Files are bounded in number too: an empty one takes about a kilobyte of the kernel's memory.
const deviceOptions = ["nosuid", "noexec", "strictatime", "mode=755", "size=64k", "nr_inodes=1k"];
const sharedMemoryOptions = ["nosuid", "nodev", "noexec", "mode=1777", "size=64m", "nr_inodes=16k"];
const bindReadOnly = ["bind", "ro", "nosuid", "nodev", "noexec"];

/**
 * The OCI runtime configuration of one call, as JSON text
 * (https://github.com/opencontainers/runtime-spec/blob/main/config.md).
 *
 * The sandbox has a user namespace of its own with exactly one id in it, the one that the image's USER names, so that
 * everything inside belongs to the function and nothing outside does. It has no capabilities, cannot gain any, may make
 * only the system calls of {@link seccompProfile}, and sees a fresh /proc, a minimal /dev, no /sys, and - unless
 * `Accessible` - no network.
 */
export function runtimeSpec(process: ProcessConfig, options: SandboxOptions): string {
  const pids = options.pids ?? MAX_PROCESSES;
  const { seccomp, annotations } = seccompFields(options.runtime ?? "other");
  const namespaces = [
    { type: "user" },
    { type: "pid" },
    { type: "mount" },
    { type: "ipc" },
    { type: "uts" },
    { type: "cgroup" },
  ];
  const mounts: { destination: string; type: string; source: string; options: string[] }[] = [
    { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "nodev", "noexec"] },
    { destination: "/dev", type: "tmpfs", source: "tmpfs", options: deviceOptions },
    { destination: "/dev/shm", type: "tmpfs", source: "shm", options: sharedMemoryOptions },
  ];
  if (options.network === "Isolated") {
    namespaces.push({ type: "network" });
  } else {
    mounts.push(
      { destination: "/etc/resolv.conf", type: "bind", source: options.networkFiles.resolvConf, options: bindReadOnly },
      { destination: "/etc/hosts", type: "bind", source: options.networkFiles.hosts, options: bindReadOnly },
    );
  }
  if (options.readOnlyRoot !== undefined) {
    mounts.push({
      destination: "/tmp",
      type: "bind",
      source: options.readOnlyRoot.tmp,
      options: ["bind", "rw", "nosuid", "nodev"],
    });
  }
  return JSON.stringify({
    ociVersion: "1.0.2",
    hostname: process.hostname ?? "function",
    process: {
      terminal: false,
      user: { uid: process.user.uid, gid: process.user.gid },
      args: process.args,
      env: process.env,
      cwd: process.cwd,
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
      noNewPrivileges: true,
      rlimits: [
        // Counted per user namespace since Linux 5.14, so one function's processes do not count against another's.
        { type: "RLIMIT_NPROC", hard: pids, soft: pids },
        { type: "RLIMIT_NOFILE", hard: MAX_OPEN_FILES, soft: MAX_OPEN_FILES },
        { type: "RLIMIT_CORE", hard: 0, soft: 0 },
      ],
    },
    root: { path: options.rootfs, readonly: options.readOnlyRoot !== undefined },
    mounts,
    annotations,
    linux: {
      namespaces,
      uidMappings: [{ containerID: process.user.uid, hostID: options.owner.uid, size: 1 }],
      gidMappings: [{ containerID: process.user.gid, hostID: options.owner.gid, size: 1 }],
      maskedPaths,
      readonlyPaths,
      seccomp,
    },
  });
}
