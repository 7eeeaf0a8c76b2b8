import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CGROUP_ROOT } from "./call-limits.ts";
import { isVersion2, ownCgroups } from "./cgroups.ts";
import { isGone, ownerOf } from "./group-name.ts";
import { removeGroups } from "./removal.ts";
import { baseV1 } from "./v1.ts";
import { ownBaseV2 } from "./v2.ts";

/**
 * Removes the groups of calls whose runner was killed or crashed, and kills their processes. Searches the groups in
 * which this process creates groups. Skips groups whose runner may be alive: see {@link isGone}.
 *
 * @returns the number of groups
 */
export function sweepCgroups(host: { root: string; self: string } = { root: CGROUP_ROOT, self: ownCgroups() }): number {
  const left = [...basesOf(host)].flatMap((base) =>
    names(base).flatMap((name) => {
      const owner = ownerOf(name);
      return owner !== undefined && isGone(owner) ? [join(base, name)] : [];
    }),
  );
  // Starts the removal without waiting for it.
  removeGroups(left);
  return left.length;
}

function basesOf(host: { root: string; self: string }): Set<string> {
  if (isVersion2(host.root)) return new Set([ownBaseV2(host), host.root]);
  return new Set(["memory", "cpu", "pids"].flatMap((controller) => baseV1(controller, host) ?? []));
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
