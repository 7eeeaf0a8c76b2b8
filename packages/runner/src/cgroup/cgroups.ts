import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CgroupHost, LimitCgroup, Limits } from "./limit-cgroup.ts";
import { createV1 } from "./v1.ts";
import { createV2 } from "./v2.ts";

/**
 * Creates cgroups with the given limits.
 *
 * @returns undefined if only `pids` is limited and no cgroup must count processes
 * @throws LimitUnavailableError, after removing the groups that it created
 */
export function createLimitCgroup(name: string, limits: Limits, host: CgroupHost): LimitCgroup | undefined {
  return isVersion2(host.root) ? createV2(name, limits, host) : createV1(name, limits, host);
}

/** Whether only cgroup version 2 is mounted at this root. */
export function isVersion2(root: string): boolean {
  return existsSync(join(root, "cgroup.controllers"));
}

/** The text of `/proc/self/cgroup`. */
export function ownCgroups(): string {
  return readFileSync("/proc/self/cgroup", "utf8");
}
