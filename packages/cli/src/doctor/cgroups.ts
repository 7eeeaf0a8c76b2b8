import { join } from "node:path";
import type { Check } from "./check.ts";
import type { Host } from "./host.ts";

/** `v2`: the unified hierarchy alone. `hybrid`: v1 controllers and a v2 mount. */
export type CgroupMode = "v2" | "hybrid" | "v1" | "none";

/** The control groups of a host, and those of this process. */
export interface Cgroups {
  readonly mode: CgroupMode;
  /** v1 controllers with their mount points, such as `memory` -> `/sys/fs/cgroup/memory`. */
  readonly v1: ReadonlyMap<string, string>;
  /** The mount point of the v2 hierarchy. */
  readonly v2?: string;
  /** This process's path below the mount point, by v1 controller, or "" for v2. */
  readonly paths: ReadonlyMap<string, string>;
}

/**
 * Reads the layout from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
 *
 * @see https://man7.org/linux/man-pages/man7/cgroups.7.html
 */
export function parseCgroups(mountinfo: string, selfCgroup: string): Cgroups {
  const v1 = new Map<string, string>();
  let v2: string | undefined;
  for (const line of mountinfo.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const mountPoint = before.split(" ")[4];
    const [type, , options = ""] = after.split(" ");
    if (mountPoint === undefined) continue;
    if (type === "cgroup2") v2 ??= mountPoint;
    if (type !== "cgroup") continue;
    for (const option of options.split(",")) if (option !== "rw" && option !== "ro") v1.set(option, mountPoint);
  }
  const paths = new Map<string, string>();
  for (const line of selfCgroup.split("\n")) {
    const match = /^\d+:([^:]*):(.*)$/.exec(line);
    for (const controller of match?.[1]?.split(",") ?? []) paths.set(controller, match?.[2] ?? "/");
  }
  const named = [...v1.keys()].some((controller) => !controller.startsWith("name="));
  const mode = v2 === undefined ? (named ? "v1" : "none") : named ? "hybrid" : "v2";
  return { mode, v1, paths, ...(v2 === undefined ? {} : { v2 }) };
}

// The runner refuses a call with such a limit if it cannot be enforced.
const LIMITS = ["memory", "cpu"] as const;

const DELEGATE =
  "run in a delegated scope: `systemd-run --user --scope -p Delegate=yes xfn ...`; cpu needs, once: `sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory pids\\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload`";

const DELEGATE_ROOT =
  "run in a separate scope: `systemd-run --scope -p Delegate=yes xfn ...`; in a container: a private, writable cgroup mount";

/**
 * Checks which limits can be enforced on this host. Without limits of memory and cpu, only functions without such
 * limits run, and others with `--allow-unlimited`. The number of processes is always bounded.
 */
export async function checkCgroups(host: Host): Promise<readonly Check[]> {
  const mountinfo = (await host.read("/proc/self/mountinfo")) ?? "";
  const groups = parseCgroups(mountinfo, (await host.read("/proc/self/cgroup")) ?? "");
  const layout: Check = { id: "cgroup-mode", title: "control groups", status: "info", detail: describe(groups) };
  const enforceable =
    groups.mode === "v2"
      ? await delegatedV2(host, groups)
      : [...LIMITS, "pids"].filter((name) => delegatedV1(host, groups, name));
  return [
    layout,
    limitsOf(host, groups, enforceable),
    processesOf(host, groups, enforceable),
    warmPoolOf(host, groups, enforceable),
  ];
}

// The runner starts no function before its call unless a control group bounds it while it waits.
function warmPoolOf(host: Host, groups: Cgroups, enforceable: readonly string[]): Check {
  const warmPool = { id: "warm-pool", title: "warm pool" };
  if (LIMITS.every((name) => enforceable.includes(name)))
    return { ...warmPool, status: "ok", detail: "a control group bounds the waiting functions of xfn-runner" };
  return {
    ...warmPool,
    status: "info",
    detail:
      "xfn-runner starts no function before its call, because no control group would bound it while it waits; --allow-unlimited permits it",
    remedy: remedyFor(host, groups),
  };
}

function limitsOf(host: Host, groups: Cgroups, enforceable: readonly string[]): Check {
  const limits = { id: "limits", title: "memory and cpu limits" };
  const missing = LIMITS.filter((name) => !enforceable.includes(name));
  if (missing.length === 0) return { ...limits, status: "ok", detail: "memory and cpu can be limited" };
  const rest = LIMITS.filter((name) => enforceable.includes(name)).map((name) => `; ${name} can`);
  return {
    ...limits,
    status: "warn",
    detail: `${missing.join(" and ")} cannot be limited: ${whyNot(host, groups, missing)}${rest.join("")}; a function with such a limit requires --allow-unlimited`,
    remedy: remedyFor(host, groups),
  };
}

function processesOf(host: Host, groups: Cgroups, enforceable: readonly string[]): Check {
  const processes = { id: "process-limit", title: "process limit" };
  if (enforceable.includes("pids"))
    return { ...processes, status: "ok", detail: "a control group bounds the processes of each function" };
  // For root, RLIMIT_NPROC counts the processes of each function separately: see docs/concepts/security-model.md.
  if (host.uid === 0)
    return { ...processes, status: "ok", detail: "RLIMIT_NPROC bounds the processes of each function" };
  return {
    ...processes,
    status: "info",
    detail:
      "concurrent functions share one bound (RLIMIT_NPROC): a function that forks without end can prevent others from starting until it is killed; a function with its own bound requires --allow-unlimited",
    remedy: remedyFor(host, groups),
  };
}

function describe(groups: Cgroups): string {
  const v1 = [...groups.v1.keys()].filter((controller) => !controller.startsWith("name=")).join(", ");
  switch (groups.mode) {
    case "v2":
      return `version 2 at ${groups.v2}`;
    case "hybrid":
      return `hybrid: version 1 controllers (${v1}) and version 2`;
    case "v1":
      return `version 1 (${v1})`;
    case "none":
      return "not mounted";
  }
}

// The runner limits a process in a child of its own group. The group must be writable, and must have the controllers
// enabled. Root can also make groups at the top.
async function delegatedV2(host: Host, groups: Cgroups): Promise<readonly string[]> {
  const top = groups.v2 ?? "/sys/fs/cgroup";
  const own = join(top, groups.paths.get("") ?? "/");
  const inOwn = await delegableControllers(host, own);
  return LIMITS.every((name) => inOwn.includes(name)) || host.uid !== 0
    ? inOwn
    : await delegableControllers(host, join(top, "/"));
}

// The controllers that a group can enable for its children.
async function delegableControllers(host: Host, group: string): Promise<readonly string[]> {
  const writable = ["", "cgroup.procs", "cgroup.subtree_control"].every((file) => host.writable(join(group, file)));
  if (!writable) return [];
  const enabled = await words(host, join(group, "cgroup.subtree_control"));
  // A group with processes cannot enable controllers for its children (cgroup v2, "No Internal Process Constraint"),
  // except the root, which has no cgroup.type. The runner moves its own processes away, but no others.
  const isRoot = (await host.read(join(group, "cgroup.type"))) === undefined;
  if (isRoot || !(await hasOtherProcesses(host, group))) return await words(host, join(group, "cgroup.controllers"));
  return enabled;
}

async function hasOtherProcesses(host: Host, group: string): Promise<boolean> {
  const procs = join(group, "cgroup.procs");
  for (const pid of await words(host, procs)) {
    // Ignore processes that have exited; other checks start short-lived ones.
    if (!(await isOurs(host, pid)) && (await words(host, procs)).includes(pid)) return true;
  }
  return false;
}

// This process, or a child that another check started.
async function isOurs(host: Host, pid: string): Promise<boolean> {
  for (let current = pid; Number(current) > 1; ) {
    if (Number(current) === host.pid) return true;
    current = /^PPid:\s+(\d+)$/m.exec((await host.read(`/proc/${current}/status`)) ?? "")?.[1] ?? "0";
  }
  return false;
}

async function words(host: Host, path: string): Promise<readonly string[]> {
  return ((await host.read(path)) ?? "").split(/\s+/).filter((word) => word !== "");
}

function delegatedV1(host: Host, groups: Cgroups, controller: string): boolean {
  const mount = groups.v1.get(controller);
  // Version 1 cannot be delegated safely, so a writable directory counts for root only.
  return mount !== undefined && host.uid === 0 && host.writable(join(mount, groups.paths.get(controller) ?? "/"));
}

function whyNot(host: Host, groups: Cgroups, missing: readonly string[]): string {
  if (groups.mode === "none") return "no control groups are mounted";
  if (groups.mode !== "v2" && host.uid !== 0) return "version 1 controllers cannot be delegated to an ordinary user";
  const own = groups.paths.get(groups.mode === "v2" ? "" : (missing[0] ?? "memory")) ?? "/";
  return `this process's group (${own}) is not delegated to it, or contains other processes`;
}

function remedyFor(host: Host, groups: Cgroups): string {
  if (groups.mode === "none") return "mount -t cgroup2 none /sys/fs/cgroup";
  if (groups.mode === "v2") return host.uid === 0 ? DELEGATE_ROOT : DELEGATE;
  if (host.uid === 0) return "run where /sys/fs/cgroup is mounted writable";
  return "boot with systemd.unified_cgroup_hierarchy=1, then use a delegated scope; or run as root";
}
