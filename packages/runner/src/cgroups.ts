import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

/** Limits of one call. */
export interface Limits {
  /** Bytes. */
  memoryBytes?: number | undefined;
  /** Cores, such as 0.25. */
  cpus?: number | undefined;
}

/** The cgroups of one call. */
export interface LimitCgroup {
  /** `cgroup.procs` files that the container's first process writes itself into, relative to the cgroup root. */
  procs: string[];
  /** Whether the kernel killed something in it for lack of memory. */
  outOfMemory(): boolean;
  /** Takes it away; all its processes must have ended. */
  remove(): void;
}

/** This host cannot enforce a limit; the message says why, and `remedy` what would help. */
export class LimitUnavailableError extends Error {
  override readonly name = "LimitUnavailableError";
  readonly remedy: string;
  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** Where cgroups are; tests pass their own. */
export interface CgroupHost {
  /** `/sys/fs/cgroup`. */
  root: string;
  /** The text of `/proc/self/cgroup`. */
  self: string;
  /** Whether we are root, who may also make groups at the top of a version 2 hierarchy. */
  isRoot: boolean;
  /** Processes that may be moved into a leaf so that controllers can be enabled above it: this one and all below it. */
  ownProcesses: () => number[];
}

// The period that the kernel, runc and Kubernetes use by default, in microseconds.
const CPU_PERIOD = 100_000;
// The kernel refuses a quota below one millisecond.
const MIN_CPU_QUOTA = 1_000;

/** Makes cgroups with the given limits. @throws LimitUnavailableError, having left nothing behind */
export function createLimitCgroup(name: string, limits: Limits, host: CgroupHost): LimitCgroup {
  return existsSync(join(host.root, "cgroup.controllers"))
    ? createV2(name, limits, host)
    : createV1(name, limits, host);
}

function cpuQuota(cpus: number): number {
  return Math.max(MIN_CPU_QUOTA, Math.ceil(cpus * CPU_PERIOD));
}

// --- version 1: one hierarchy per controller; only root may make groups in it ---

function createV1(name: string, limits: Limits, host: CgroupHost): LimitCgroup {
  const made: string[] = [];
  const removeAll = (): void => made.toReversed().forEach(removeDirectory);
  const make = (controller: string): string => {
    const mounted = join(host.root, controller);
    if (!existsSync(mounted))
      throw unavailable(controller, `this host has no ${controller} cgroup controller`, v2Remedy);
    // Below our own group, so that a limit on the runner bounds its functions too.
    const own = join(mounted, ownGroupV1(host.self, controller));
    const directory = join(existsSync(own) ? own : mounted, name);
    try {
      mkdirSync(directory);
    } catch (error) {
      throw unavailable(controller, `cgroup version 1 lets only root set limits (${codeOf(error)})`, v2Remedy);
    }
    made.push(directory);
    return directory;
  };
  try {
    let memory: string | undefined;
    if (limits.memoryBytes !== undefined) {
      memory = make("memory");
      write(join(memory, "memory.limit_in_bytes"), String(limits.memoryBytes));
      writeWherePresent(join(memory, "memory.memsw.limit_in_bytes"), String(limits.memoryBytes));
    }
    if (limits.cpus !== undefined) {
      const cpu = make("cpu");
      write(join(cpu, "cpu.cfs_period_us"), String(CPU_PERIOD));
      write(join(cpu, "cpu.cfs_quota_us"), String(cpuQuota(limits.cpus)));
    }
    return {
      procs: made.map((directory) => relative(host.root, join(directory, "cgroup.procs"))),
      outOfMemory: () => memory !== undefined && counter(join(memory, "memory.oom_control"), "oom_kill") > 0,
      remove: removeAll,
    };
  } catch (error) {
    removeAll();
    throw error;
  }
}

function ownGroupV1(self: string, controller: string): string {
  for (const line of self.split("\n")) {
    const [, controllers, ...path] = line.split(":");
    if (controllers?.split(",").includes(controller)) return path.join(":");
  }
  return "/";
}

// --- version 2: one hierarchy; ours to use where it was delegated to us ---

function createV2(name: string, limits: Limits, host: CgroupHost): LimitCgroup {
  const needed = [limits.memoryBytes === undefined ? [] : ["memory"], limits.cpus === undefined ? [] : ["cpu"]].flat();
  const directory = join(delegatedBase(needed, host), name);
  try {
    mkdirSync(directory);
  } catch (error) {
    throw unavailable(needed.join(" and "), messageOf(error), v2Remedy);
  }
  try {
    // Below a group that has processes and hands out `cpu`, the kernel makes groups that nothing can join.
    const type = words(join(directory, "cgroup.type")).join(" ");
    if (type !== "" && type !== "domain")
      throw unavailable(needed.join(" and "), `${directory} is "${type}"`, v2Remedy);
    if (limits.memoryBytes !== undefined) {
      write(join(directory, "memory.max"), String(limits.memoryBytes));
      writeWherePresent(join(directory, "memory.swap.max"), "0");
      // One process of a function killed is a function broken: kill it whole.
      writeWherePresent(join(directory, "memory.oom.group"), "1");
    }
    if (limits.cpus !== undefined) write(join(directory, "cpu.max"), `${cpuQuota(limits.cpus)} ${CPU_PERIOD}`);
  } catch (error) {
    removeDirectory(directory);
    throw error;
  }
  return {
    procs: [relative(host.root, join(directory, "cgroup.procs"))],
    outOfMemory: () => counter(join(directory, "memory.events"), "oom_kill") > 0,
    remove: () => removeDirectory(directory),
  };
}

/** The name of the group into which the runner moves itself: a group with processes cannot hand out controllers. */
const SUPERVISOR = "xfn-supervisor";

/** A group whose controllers can be handed to groups of calls: our own one, so that its limits hold for functions too. */
function delegatedBase(controllers: string[], host: CgroupHost): string {
  const own = join(host.root, host.self.match(/^0::(.*)$/m)?.[1] ?? "/");
  const base = own.endsWith(`/${SUPERVISOR}`) ? own.slice(0, -SUPERVISOR.length - 1) : own;
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

function delegate(base: string, controllers: string[], host: CgroupHost): void {
  const enabled = words(join(base, "cgroup.subtree_control"));
  const missing = controllers.filter((controller) => !enabled.includes(controller));
  if (missing.length === 0) return;
  const available = words(join(base, "cgroup.controllers"));
  const absent = missing.filter((controller) => !available.includes(controller));
  if (absent.length > 0) {
    throw unavailable(absent.join(" and "), `the controller is not available in the cgroup ${base}`, v2Remedy);
  }
  const enable = (): void =>
    write(join(base, "cgroup.subtree_control"), missing.map((controller) => `+${controller}`).join(" "));
  try {
    accessSync(join(base, "cgroup.subtree_control"), constants.W_OK);
  } catch (error) {
    throw unavailable(
      missing.join(" and "),
      `the cgroup ${base} is not delegated to this user (${codeOf(error)})`,
      v2Remedy,
    );
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
    removeDirectory(supervisor);
    throw unavailable(
      missing.join(" and "),
      `the cgroup ${base} holds other processes than xfn's, so its controllers cannot be handed to functions (${messageOf(error)})`,
      v2Remedy,
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

const v2Remedy =
  "run as root, or on a cgroup v2 host in a delegated scope of your own: systemd-run --user --scope -p Delegate=yes COMMAND";

function unavailable(what: string, why: string, remedy: string): LimitUnavailableError {
  return new LimitUnavailableError(`a ${what} limit cannot be enforced: ${why}`, remedy);
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new LimitUnavailableError(
      `a limit cannot be enforced: writing ${path} failed (${messageOf(error)})`,
      v2Remedy,
    );
  }
}

function writeWherePresent(path: string, text: string): void {
  if (existsSync(path)) write(path, text);
}

function words(path: string): string[] {
  try {
    return readFileSync(path, "utf8").trim().split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}

/** The value of one line of a `name value` file such as memory.events; 0 where it is absent. */
function counter(path: string, name: string): number {
  try {
    return Number(readFileSync(path, "utf8").match(new RegExp(`^${name} (\\d+)$`, "m"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function removeDirectory(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Gone already, or still emptying after a kill; an empty group costs nothing.
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : messageOf(error);
}
