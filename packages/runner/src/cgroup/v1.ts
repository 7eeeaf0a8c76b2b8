import { existsSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { codeOf } from "../base/error-text.ts";
import { CPU_PERIOD, cpuQuota } from "./cpu-quota.ts";
import { counter, LimitUnavailableError, unavailable, write, writeWherePresent } from "./files.ts";
import type { CgroupHost, LimitCgroup, Limits } from "./limit-cgroup.ts";
import { removeGroups } from "./removal.ts";

// Version 1 has one hierarchy per controller. Only root may create groups in it.

/**
 * Creates a call's groups, one per controller. @throws LimitUnavailableError, after removing the groups that it created
 */
export function createV1(name: string, limits: Limits, host: CgroupHost): LimitCgroup | undefined {
  const made: string[] = [];
  const make = (controller: string): string => {
    const base = baseV1(controller, host);
    if (base === undefined) throw unavailable(controller, `this host has no ${controller} cgroup controller`);
    const directory = join(base, name);
    try {
      mkdirSync(directory);
    } catch (error) {
      throw unavailable(controller, `cgroup version 1 lets only root set limits (${codeOf(error)})`);
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
    let pids: string | undefined;
    if (limits.pids !== undefined) {
      try {
        pids = make("pids");
        write(join(pids, "pids.max"), String(limits.pids));
      } catch (error) {
        if (limits.mustCount === true || !(error instanceof LimitUnavailableError)) throw error;
      }
    }
    if (made.length === 0) return undefined;
    const memoryKills = (): number =>
      memory === undefined ? 0 : counter(join(memory, "memory.oom_control"), "oom_kill");
    return {
      procs: made.map((directory) => relative(host.root, join(directory, "cgroup.procs"))),
      countsProcesses: pids !== undefined,
      memoryKills,
      hits: () => ({
        outOfMemory: memoryKills() > 0,
        tooManyProcesses: pids !== undefined && counter(join(pids, "pids.events"), "max") > 0,
      }),
      // Version 1 cannot kill a group. The end of its first process kills the container's pid namespace.
      kill: () => undefined,
      remove: () => removeGroups(made),
    };
  } catch (error) {
    removeGroups(made);
    throw error;
  }
}

/** The parent of calls' groups: this process's group, so that a limit on the runner also limits its functions. */
export function baseV1(controller: string, host: Pick<CgroupHost, "root" | "self">): string | undefined {
  const mounted = join(host.root, controller);
  if (!existsSync(mounted)) return undefined;
  const own = join(mounted, ownGroup(host.self, controller));
  return existsSync(own) ? own : mounted;
}

function ownGroup(self: string, controller: string): string {
  for (const line of self.split("\n")) {
    const [, controllers, ...path] = line.split(":");
    if (controllers?.split(",").includes(controller)) return path.join(":");
  }
  return "/";
}
