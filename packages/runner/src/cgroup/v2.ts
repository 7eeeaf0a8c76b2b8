import { accessSync, constants, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { messageOf } from "@xfn/errors";
import { codeOf } from "../base/error-text.ts";
import { CPU_PERIOD, cpuQuota } from "./cpu-quota.ts";
import { counter, removeGroup, unavailable, words, write, writeWherePresent } from "./files.ts";
import type { CgroupHost, LimitCgroup, Limits } from "./limit-cgroup.ts";
import { killGroup, removeGroups } from "./removal.ts";

// Version 2 has one hierarchy, and only a delegated part of it is usable.

/**
 * Creates a call's group. Joining it costs a grace period of the kernel (18 ms if no process joined one just before),
 * unless the hierarchy is mounted with `favordynmods`. A limit of processes alone therefore requires no group, unless
 * they must be counted.
 *
 * @throws LimitUnavailableError, after removing the group that it created
 */
export function createV2(name: string, limits: Limits, host: CgroupHost): LimitCgroup | undefined {
  const needed = [
    ...(limits.memoryBytes === undefined ? [] : ["memory"]),
    ...(limits.cpus === undefined ? [] : ["cpu"]),
    ...(limits.pids === undefined || limits.mustCount !== true ? [] : ["pids"]),
  ];
  if (needed.length === 0) return undefined;
  const base = delegatedBase(needed, host);
  const directory = join(base, name);
  try {
    mkdirSync(directory);
  } catch (error) {
    throw unavailable(needed.join(" and "), messageOf(error));
  }
  let countsProcesses = false;
  try {
    // Below a group that has processes and delegates `cpu`, the kernel creates groups that no process can join.
    const type = words(join(directory, "cgroup.type")).join(" ");
    if (type !== "" && type !== "domain") throw unavailable(needed.join(" and "), `${directory} is "${type}"`);
    if (limits.memoryBytes !== undefined) {
      write(join(directory, "memory.max"), String(limits.memoryBytes));
      writeWherePresent(join(directory, "memory.swap.max"), "0");
      // A function with one killed process is broken, so kill all of its processes.
      if (limits.killsOne !== true) writeWherePresent(join(directory, "memory.oom.group"), "1");
    }
    if (limits.cpus !== undefined) write(join(directory, "cpu.max"), `${cpuQuota(limits.cpus)} ${CPU_PERIOD}`);
    countsProcesses = limits.pids !== undefined && limitProcesses(base, directory, limits.pids);
    if (needed.includes("pids") && !countsProcesses) throw unavailable("pids", `${directory} has no pids.max to write`);
  } catch (error) {
    removeGroups([directory]);
    throw error;
  }
  const memoryKills = (): number => counter(join(directory, "memory.events"), "oom_kill");
  return {
    procs: [relative(host.root, join(directory, "cgroup.procs"))],
    countsProcesses,
    memoryKills,
    hits: () => ({
      outOfMemory: memoryKills() > 0,
      tooManyProcesses: countsProcesses && counter(join(directory, "pids.events"), "max") > 0,
    }),
    kill: () => killGroup(directory),
    remove: () => removeGroups([directory]),
  };
}

// At this point the base has no processes. If this controller is not delegated, RLIMIT_NPROC limits processes.
function limitProcesses(base: string, directory: string, pids: number): boolean {
  try {
    if (!words(join(base, "cgroup.subtree_control")).includes("pids"))
      writeFileSync(join(base, "cgroup.subtree_control"), "+pids");
    writeFileSync(join(directory, "pids.max"), String(pids));
    return true;
  } catch {
    return false;
  }
}

/** The group into which the runner moves itself, because a group with processes cannot delegate controllers. */
const SUPERVISOR = "xfn-supervisor";

/**
 * The group that delegates controllers to calls' groups: this process's group, so that its limits also limit functions.
 */
function delegatedBase(controllers: string[], host: CgroupHost): string {
  const base = ownBaseV2(host);
  try {
    delegate(base, controllers, host);
    return base;
  } catch (error) {
    if (!host.isRoot || base === join(host.root, "/")) throw error;
  }
  // Root in a login session shares its group with a shell. Only the root group may have processes and delegate.
  delegate(host.root, controllers, host);
  return host.root;
}

export function ownGroupV2(host: Pick<CgroupHost, "root" | "self">): string {
  return join(host.root, host.self.match(/^0::(.*)$/m)?.[1] ?? "/");
}

/** This process's group, or its parent once this process has moved into the supervisor group. */
export function ownBaseV2(host: Pick<CgroupHost, "root" | "self">): string {
  const own = ownGroupV2(host);
  return own.endsWith(`/${SUPERVISOR}`) ? own.slice(0, -SUPERVISOR.length - 1) : own;
}

function delegate(base: string, controllers: string[], host: CgroupHost): void {
  const enabled = words(join(base, "cgroup.subtree_control"));
  const missing = controllers.filter((controller) => !enabled.includes(controller));
  if (missing.length === 0) return;
  const available = words(join(base, "cgroup.controllers"));
  const absent = missing.filter((controller) => !available.includes(controller));
  if (absent.length > 0) {
    throw unavailable(absent.join(" and "), `the controller is not available in the cgroup ${base}`);
  }
  const enable = (): void =>
    write(join(base, "cgroup.subtree_control"), missing.map((controller) => `+${controller}`).join(" "));
  try {
    accessSync(join(base, "cgroup.subtree_control"), constants.W_OK);
  } catch (error) {
    throw unavailable(missing.join(" and "), `the cgroup ${base} is not delegated to this user (${codeOf(error)})`);
  }
  if (!isOccupied(base)) {
    enable();
    return;
  }
  // A group with processes cannot delegate controllers (cgroups(7), "no internal processes"), so move them into a leaf.
  const supervisor = join(base, SUPERVISOR);
  try {
    mkdirSync(supervisor, { recursive: true });
    moveProcesses(supervisor, host.ownProcesses());
    if (isOccupied(base)) throw new Error("they cannot be moved");
    enable();
  } catch (error) {
    moveProcesses(base, host.ownProcesses());
    removeGroup(supervisor);
    throw unavailable(
      missing.join(" and "),
      `the cgroup ${base} contains other processes than xfn's, so its controllers cannot be delegated to functions (${messageOf(error)})`,
    );
  }
}

/** Whether a group has processes that forbid delegation; the root group may have both. */
function isOccupied(group: string): boolean {
  return existsSync(join(group, "cgroup.type")) && words(join(group, "cgroup.procs")).length > 0;
}

function moveProcesses(directory: string, processes: number[]): void {
  for (const pid of processes) {
    try {
      writeFileSync(join(directory, "cgroup.procs"), String(pid));
    } catch {
      // The process has ended. A process that stays for another reason makes the next step fail with a message.
    }
  }
}
