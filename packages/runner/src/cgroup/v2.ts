import { accessSync, constants, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { CPU_PERIOD, cpuQuota } from "./cpu-quota.ts";
import { codeOf, counter, messageOf, removeGroup, unavailable, words, write, writeWherePresent } from "./files.ts";
import type { CgroupHost, LimitCgroup, Limits } from "./limit-cgroup.ts";
import { killGroup, removeGroups } from "./removal.ts";

// Version 2: one hierarchy; ours to use where it was delegated to us.

/**
 * Makes a call's group. Joining one costs a grace period of the kernel (18 ms where nobody did so just before), unless the
 * hierarchy is mounted with `favordynmods`: nothing is made for the processes alone, unless they must be counted.
 *
 * @throws LimitUnavailableError, having left nothing behind
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
    // Below a group that has processes and hands out `cpu`, the kernel makes groups that nothing can join.
    const type = words(join(directory, "cgroup.type")).join(" ");
    if (type !== "" && type !== "domain") throw unavailable(needed.join(" and "), `${directory} is "${type}"`);
    if (limits.memoryBytes !== undefined) {
      write(join(directory, "memory.max"), String(limits.memoryBytes));
      writeWherePresent(join(directory, "memory.swap.max"), "0");
      // One process of a function killed is a function broken: kill it whole.
      writeWherePresent(join(directory, "memory.oom.group"), "1");
    }
    if (limits.cpus !== undefined) write(join(directory, "cpu.max"), `${cpuQuota(limits.cpus)} ${CPU_PERIOD}`);
    countsProcesses = limits.pids !== undefined && limitProcesses(base, directory, limits.pids);
    if (needed.includes("pids") && !countsProcesses) throw unavailable("pids", `${directory} has no pids.max to write`);
  } catch (error) {
    removeGroups([directory]);
    throw error;
  }
  return {
    procs: [relative(host.root, join(directory, "cgroup.procs"))],
    countsProcesses,
    hits: () => ({
      outOfMemory: counter(join(directory, "memory.events"), "oom_kill") > 0,
      tooManyProcesses: countsProcesses && counter(join(directory, "pids.events"), "max") > 0,
    }),
    kill: () => killGroup(directory),
    remove: () => removeGroups([directory]),
  };
}

// By now the base has no processes of its own. A host that did not hand us this controller has RLIMIT_NPROC.
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

/** The name of the group into which the runner moves itself: a group with processes cannot hand out controllers. */
const SUPERVISOR = "xfn-supervisor";

/** A group whose controllers can be handed to groups of calls: our own one, so that its limits hold for functions too. */
function delegatedBase(controllers: string[], host: CgroupHost): string {
  const base = ownBaseV2(host);
  try {
    delegate(base, controllers, host);
    return base;
  } catch (error) {
    if (!host.isRoot || base === join(host.root, "/")) throw error;
  }
  // Root in a login session shares its group with a shell; the group at the top may hold processes and groups at once.
  delegate(host.root, controllers, host);
  return host.root;
}

/** Our own group, or the one above where we stepped aside. */
export function ownBaseV2(host: Pick<CgroupHost, "root" | "self">): string {
  const own = join(host.root, host.self.match(/^0::(.*)$/m)?.[1] ?? "/");
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
  // A group with processes of its own cannot hand out controllers (cgroups(7), "no internal processes"): step aside.
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
      `the cgroup ${base} holds other processes than xfn's, so its controllers cannot be handed to functions (${messageOf(error)})`,
    );
  }
}

/** Whether a group has processes that forbid it to hand out controllers; the one at the very top may have both. */
function isOccupied(group: string): boolean {
  return existsSync(join(group, "cgroup.type")) && words(join(group, "cgroup.procs")).length > 0;
}

function moveProcesses(directory: string, processes: number[]): void {
  for (const pid of processes) {
    try {
      writeFileSync(join(directory, "cgroup.procs"), String(pid));
    } catch {
      // It ended meanwhile. One that stays behind for another reason makes the next step fail, which says so.
    }
  }
}
