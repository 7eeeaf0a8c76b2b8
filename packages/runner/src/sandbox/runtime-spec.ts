import { MAX_PROCESSES } from "../cgroup/process-rlimit.ts";
import type { RuntimeFamily } from "../host/runtime-family.ts";
import { seccompFields } from "../seccomp/seccomp.ts";
import { MAX_OPEN_FILES, WRITABLE_BYTES } from "./limits.ts";
import type { HostId } from "./sandbox-owner.ts";

/** The process of an image, resolved. */
export interface ProcessConfig {
  args: readonly string[];
  env: readonly string[];
  cwd: string;
  user: { uid: number; gid: number };
  /** Default `function`. */
  hostname?: string;
}

/** Settings of a sandbox in addition to its process. */
export interface SandboxOptions {
  network: "Isolated" | "Accessible";
  /** The runtime that reads the configuration; default: any. */
  runtime?: RuntimeFamily;
  /** The id that owns the layers, as seen in the user namespace in which crun starts. */
  owner: HostId;
  /** The root filesystem: absolute, or relative to the bundle. */
  rootfs: string;
  /** RLIMIT_NPROC; default {@link MAX_PROCESSES}. */
  pids?: number;
  /** RLIMIT_DATA, in bytes; default none. */
  dataBytes?: number | undefined;
  /** Paths of `resolv.conf` and `hosts`, for `Accessible`. */
  networkFiles: { resolvConf: string; hosts: string };
  /** Set for a read-only root filesystem: the size-limited directory that becomes /tmp. */
  readOnlyRoot?: { tmp: string };
  /** The directory that becomes /dev. */
  dev: string;
}

// Docker, podman and runc mask most of these paths, because each has leaked or changed host state in the past.
// Functions do not need the boot parameters, the kernel's configuration, symbols and modules, or the host's locks and
// load.
const maskedPaths = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/cmdline",
  "/proc/config.gz",
  "/proc/interrupts",
  "/proc/kallsyms",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/locks",
  "/proc/modules",
  "/proc/pressure",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
];
const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

// Recursive: the sandbox host may have bound each device. Runtimes do not create devices in a bound /dev.
const deviceOptions = ["rbind", "ro", "nosuid", "noexec"];
// Also limits the number of files: an empty file takes about a kilobyte of kernel memory.
const sharedMemoryOptions = ["nosuid", "nodev", "noexec", "mode=1777", "size=64m", "nr_inodes=16k"];
const bindReadOnly = ["bind", "ro", "nosuid", "nodev", "noexec"];

/**
 * The OCI runtime configuration of one call, as JSON text
 * (https://github.com/opencontainers/runtime-spec/blob/main/config.md).
 *
 * The sandbox has a new user namespace with exactly one id: that of the image's USER. Everything inside belongs to the
 * function, and nothing outside does. The function has no capabilities and cannot gain any. It can make only the system
 * calls of {@link seccompProfile}. It sees a fresh /proc, a minimal read-only /dev, no /sys and, unless `Accessible`,
 * no network.
 */
export function runtimeSpec(process: ProcessConfig, options: SandboxOptions): string {
  const { dataBytes, pids = MAX_PROCESSES } = options;
  const { seccomp, annotations } = seccompFields(options.runtime ?? "other");
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
      // If the machine runs out of memory, the kernel kills functions before the runner and its neighbours.
      oomScoreAdj: 1000,
      rlimits: [
        // Counted per user namespace since Linux 5.14, so functions do not share the count.
        { type: "RLIMIT_NPROC", hard: pids, soft: pids },
        { type: "RLIMIT_NOFILE", hard: MAX_OPEN_FILES, soft: MAX_OPEN_FILES },
        { type: "RLIMIT_CORE", hard: 0, soft: 0 },
        ...(dataBytes === undefined ? [] : [{ type: "RLIMIT_DATA", hard: dataBytes, soft: dataBytes }]),
      ],
    },
    root: { path: options.rootfs, readonly: options.readOnlyRoot !== undefined },
    mounts: mountsOf(options),
    annotations,
    linux: {
      namespaces: namespacesOf(options.network).map((type) => ({ type })),
      uidMappings: [{ containerID: process.user.uid, hostID: options.owner.uid, size: 1 }],
      gidMappings: [{ containerID: process.user.gid, hostID: options.owner.gid, size: 1 }],
      maskedPaths,
      readonlyPaths,
      seccomp,
    },
  });
}

function namespacesOf(network: SandboxOptions["network"]): string[] {
  const always = ["user", "pid", "mount", "ipc", "uts", "cgroup"];
  return network === "Isolated" ? [...always, "network"] : always;
}

interface Mount {
  destination: string;
  type: string;
  source: string;
  options: string[];
}

// Without such a mount, gVisor mounts an unbounded tmpfs on an empty /tmp
// (https://gvisor.dev/docs/user_guide/filesystem/).
const gvisorTmp: Mount = {
  destination: "/tmp",
  type: "tmpfs",
  source: "tmp",
  options: ["nosuid", "nodev", "mode=1777", `size=${WRITABLE_BYTES}`],
};
// gVisor refuses to write to a device of a read-only mount, even to /dev/null. It mounts its own devices here.
const gvisorDev: Mount = {
  destination: "/dev",
  type: "tmpfs",
  source: "dev",
  options: ["nosuid", "noexec", "mode=755"],
};

function mountsOf({ network, networkFiles, readOnlyRoot, dev, runtime }: SandboxOptions): Mount[] {
  const mounts: Mount[] = [
    { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "nodev", "noexec"] },
    runtime === "runsc" ? gvisorDev : { destination: "/dev", type: "bind", source: dev, options: deviceOptions },
    { destination: "/dev/shm", type: "tmpfs", source: "shm", options: sharedMemoryOptions },
  ];
  if (network === "Accessible") {
    mounts.push(
      { destination: "/etc/resolv.conf", type: "bind", source: networkFiles.resolvConf, options: bindReadOnly },
      { destination: "/etc/hosts", type: "bind", source: networkFiles.hosts, options: bindReadOnly },
    );
  }
  if (readOnlyRoot !== undefined) {
    const options = ["bind", "rw", "nosuid", "nodev"];
    mounts.push({ destination: "/tmp", type: "bind", source: readOnlyRoot.tmp, options });
  } else if (runtime === "runsc") {
    mounts.push(gvisorTmp);
  }
  return mounts;
}
