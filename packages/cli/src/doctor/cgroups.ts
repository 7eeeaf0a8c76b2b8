import { join } from "node:path";
import type { Check } from "./check.ts";
import type { Host } from "./host.ts";

/** `v2`: the unified hierarchy alone. `hybrid`: v1 controllers with a v2 mount beside them. */
export type CgroupMode = "v2" | "hybrid" | "v1" | "none";

/** How a host mounts its control groups, and where this process is in them. */
export interface Cgroups {
  readonly mode: CgroupMode;
  /** v1 controllers with their mount points, such as `memory` -> `/sys/fs/cgroup/memory`. */
  readonly v1: ReadonlyMap<string, string>;
  /** Mount point of the v2 hierarchy. */
  readonly v2?: string;
  /** This process's own path below the mount point: key "" for v2, else the v1 controller. */
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

// What a call is refused for where it asks for it and it cannot be had.
const LIMITS = ["memory", "cpu"] as const;

const DELEGATE =
  "run in a delegated scope: `systemd-run --user --scope -p Delegate=yes xfn ...`; cpu needs, once: `sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory pids\\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload`";

const DELEGATE_ROOT =
  "run in a scope of its own: `systemd-run --scope -p Delegate=yes xfn ...`; in a container: a private, writable cgroup mount";

/**
 * Which limits a function can be held to on this host. Without those of memory and cpu, functions that ask for none still
 * run, and others with `--allow-unlimited`; processes are bounded in any case.
 */
export async function checkCgroups(host: Host): Promise<readonly Check[]> {
  const mountinfo = (await host.read("/proc/self/mountinfo")) ?? "";
  const groups = parseCgroups(mountinfo, (await host.read("/proc/self/cgroup")) ?? "");
  const layout: Check = { id: "cgroup-mode", title: "control groups", status: "info", detail: describe(groups) };
  const enforceable =
    groups.mode === "v2"
      ? await delegatedV2(host, groups)
      : [...LIMITS, "pids"].filter((name) => delegatedV1(host, groups, name));
  return [layout, limitsOf(host, groups, enforceable), processesOf(host, groups, enforceable)];
}

function limitsOf(host: Host, groups: Cgroups, enforceable: readonly string[]): Check {
  const limits = { id: "limits", title: "memory and cpu limits" };
  const missing = LIMITS.filter((name) => !enforceable.includes(name));
  if (missing.length === 0) return { ...limits, status: "ok", detail: "memory and cpu can be limited" };
  const rest = LIMITS.filter((name) => enforceable.includes(name)).map((name) => `; ${name} can`);
  return {
    ...limits,
    status: "warn",
    detail: `${missing.join(" and ")} cannot be limited: ${whyNot(host, groups, missing)}${rest.join("")}; a function that sets such a limit needs --allow-unlimited`,
    remedy: remedyFor(host, groups),
  };
}

function processesOf(host: Host, groups: Cgroups, enforceable: readonly string[]): Check {
  const processes = { id: "process-limit", title: "process limit" };
  if (enforceable.includes("pids"))
    return { ...processes, status: "ok", detail: "each function's processes can be counted by its control group" };
  // Root's functions each have a count of their own all the same: see RLIMIT_NPROC in docs/security-model.md.
  if (host.uid === 0) return { ...processes, status: "ok", detail: "each function is held to RLIMIT_NPROC" };
  return {
    ...processes,
    status: "info",
    detail:
      "functions that run at the same time share one bound (RLIMIT_NPROC): a function that forks without end can keep others from starting until it is killed; one that sets its own needs --allow-unlimited",
    remedy: remedyFor(host, groups),
  };
}

function describe(groups: Cgroups): string {
  const v1 = [...groups.v1.keys()].filter((controller) => !controller.startsWith("name=")).join(", ");
  switch (groups.mode) {
    case "v2":
      return `version 2 at ${groups.v2}`;
    case "hybrid":
      return `hybrid: version 1 controllers (${v1}) beside version 2`;
    case "v1":
      return `version 1 (${v1})`;
    case "none":
      return "not mounted";
  }
}

// A process may be limited in a child of its own group; for that the group must be ours to write, and the controllers
// enabled in it. Root may make groups at the top as well.
async function delegatedV2(host: Host, groups: Cgroups): Promise<readonly string[]> {
  const top = groups.v2 ?? "/sys/fs/cgroup";
  const own = join(top, groups.paths.get("") ?? "/");
  const inOwn = await dividable(host, own);
  return LIMITS.every((name) => inOwn.includes(name)) || host.uid !== 0 ? inOwn : await dividable(host, join(top, "/"));
}

// The controllers that a group can hand to groups below it.
async function dividable(host: Host, group: string): Promise<readonly string[]> {
  const writable = ["", "cgroup.procs", "cgroup.subtree_control"].every((file) => host.writable(join(group, file)));
  if (!writable) return [];
  const enabled = await words(host, join(group, "cgroup.subtree_control"));
  // A group with processes in it hands out no controllers, except the root of the hierarchy, which has no
  // cgroup.type. The runner can step aside with its own, but it does not move the processes of others.
  const isRoot = (await host.read(join(group, "cgroup.type"))) === undefined;
  if (isRoot || !(await holdsOthers(host, group))) return await words(host, join(group, "cgroup.controllers"));
  return enabled;
}

async function holdsOthers(host: Host, group: string): Promise<boolean> {
  const procs = join(group, "cgroup.procs");
  for (const pid of await words(host, procs)) {
    // One that has ended meanwhile, as other checks' programs do, is nobody's.
    if (!(await isOurs(host, pid)) && (await words(host, procs)).includes(pid)) return true;
  }
  return false;
}

// This process, or one that another check has started.
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
  // Version 1 cannot be delegated safely, so a directory that happens to be writable counts for root only.
  return mount !== undefined && host.uid === 0 && host.writable(join(mount, groups.paths.get(controller) ?? "/"));
}

function whyNot(host: Host, groups: Cgroups, missing: readonly string[]): string {
  if (groups.mode === "none") return "no control groups are mounted";
  if (groups.mode !== "v2" && host.uid !== 0) return "version 1 controllers cannot be given to an ordinary user";
  const own = groups.paths.get(groups.mode === "v2" ? "" : (missing[0] ?? "memory")) ?? "/";
  return `this process's group (${own}) is not delegated to it, or holds other processes`;
}

function remedyFor(host: Host, groups: Cgroups): string {
  if (groups.mode === "none") return "mount -t cgroup2 none /sys/fs/cgroup";
  if (groups.mode === "v2") return host.uid === 0 ? DELEGATE_ROOT : DELEGATE;
  if (host.uid === 0) return "run where /sys/fs/cgroup is mounted writable";
  return "boot with systemd.unified_cgroup_hierarchy=1, then use a delegated scope; or run as root";
}
