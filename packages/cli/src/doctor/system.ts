import type { Check } from "./check.ts";
import type { Host } from "./host.ts";

// Linux 5.11 added overlays in user namespaces; older kernels copy root filesystems.
const OVERLAY_KERNEL = [5, 11] as const;
const NODE_MAJOR = 24;
const LOW_DISK_BYTES = 1024 ** 3;

/** Checks the operating system: only Linux runs these containers. */
export function checkPlatform(host: Host): Check {
  const check = { id: "platform", title: "operating system" };
  if (host.platform === "linux") return { ...check, status: "ok", detail: `Linux ${host.kernel}` };
  const name = host.platform === "darwin" ? "macOS" : host.platform === "win32" ? "Windows" : host.platform;
  const remedy =
    host.platform === "darwin"
      ? "use a Linux VM: `brew install lima && limactl start && lima`, then install Node 24 and crun in it"
      : host.platform === "win32"
        ? "use WSL 2: `wsl --install`, then install Node 24 and crun in it"
        : "use a Linux VM";
  return {
    ...check,
    status: "fail",
    detail: `${name} cannot run Linux containers without a Linux VM`,
    remedy,
  };
}

/** Checks that the kernel has overlays in user namespaces. */
export function checkKernel(host: Host): Check {
  const [major = 0, minor = 0] = host.kernel.split(".").map((part) => Number.parseInt(part, 10));
  const old = major < OVERLAY_KERNEL[0] || (major === OVERLAY_KERNEL[0] && minor < OVERLAY_KERNEL[1]);
  const check = { id: "kernel", title: "kernel" };
  return old
    ? {
        ...check,
        status: "warn",
        detail: `${host.kernel}: overlays of ordinary users require 5.11; files are copied instead`,
      }
    : { ...check, status: "ok", detail: host.kernel };
}

/** Checks the version of Node. */
export function checkNode(host: Host): Check {
  const check = { id: "node", title: "Node" };
  return Number.parseInt(host.nodeVersion, 10) >= NODE_MAJOR
    ? { ...check, status: "ok", detail: host.nodeVersion }
    : {
        ...check,
        status: "warn",
        detail: `${host.nodeVersion} is older than ${NODE_MAJOR}`,
        remedy: `install Node ${NODE_MAJOR} or newer: https://nodejs.org/`,
      };
}

/** Reports subordinate ids. Other runtimes need them for images with several users; xfn maps one id and needs none. */
export async function checkSubordinateIds(host: Host): Promise<Check> {
  const lines = ((await host.read("/etc/subuid")) ?? "").split("\n");
  const count = lines.filter((line) => /^[^#:]+:\d+:\d+$/.test(line.trim())).length;
  const detail =
    count === 0
      ? "none (/etc/subuid); not needed"
      : `${count} range${count === 1 ? "" : "s"} in /etc/subuid; not needed`;
  return { id: "subordinate-ids", title: "subordinate ids", status: "info", detail };
}

// Mounts in a private tmpfs over /tmp, which is gone when the probe exits.
const OVERLAY_PROBE =
  "mount -t tmpfs tmpfs /tmp && cd /tmp && mkdir lower upper work merged && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr merged && echo ok >merged/file";

/** Checks that calls can share layers through an overlay, instead of copying them. */
export async function checkOverlay(host: Host): Promise<Check> {
  const check = { id: "overlay", title: "overlay file system" };
  const unshare = host.which("unshare");
  if (unshare === undefined) return { ...check, status: "info", detail: "not tried, since `unshare` is missing" };
  const tried = await host.exec(unshare, ["--user", "--map-root-user", "--mount", "sh", "-c", OVERLAY_PROBE]);
  if (tried.code === 0) return { ...check, status: "ok", detail: "works inside a user namespace" };
  return {
    ...check,
    status: "warn",
    detail: `refused inside a user namespace (${tried.stderr.trim() || "no answer"}): each call copies its image's files, which is slower`,
    remedy: "kernel 5.11 or newer with the overlay module: `sudo modprobe overlay`",
  };
}

/** Checks the free space for images. */
export function checkDisk(host: Host, storeDir: string): Check {
  const check = { id: "disk", title: "room for images" };
  const free = host.freeBytes(storeDir);
  if (free === undefined) return { ...check, status: "warn", detail: `unknown at ${storeDir}` };
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free at ${storeDir}`;
  if (free >= LOW_DISK_BYTES) return { ...check, status: "ok", detail };
  return { ...check, status: "warn", detail, remedy: "set XDG_CACHE_HOME to a folder on a larger file system" };
}
