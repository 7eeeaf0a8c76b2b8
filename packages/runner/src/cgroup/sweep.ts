import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CGROUP_ROOT } from "./call-limits.ts";
import { isVersion2, ownCgroups } from "./cgroups.ts";
import { isGone, ownerOf } from "./group-name.ts";
import { removeGroups } from "./removal.ts";
import { baseV1 } from "./v1.ts";
import { ownBaseV2 } from "./v2.ts";

/**
 * Takes away the groups of calls whose runner is gone (killed, crashed), and kills what is still in them. It looks where
 * this process makes groups itself, and touches none whose runner lives or may live: see {@link isGone}.
 *
 * @returns how many there were
 */
export function sweepCgroups(host: { root: string; self: string } = { root: CGROUP_ROOT, self: ownCgroups() }): number {
  const left = [...basesOf(host)].flatMap((base) =>
    names(base).flatMap((name) => {
      const owner = ownerOf(name);
      return owner !== undefined && isGone(owner) ? [join(base, name)] : [];
    }),
  );
  // Killed first: they go a moment later, without anyone waiting for it.
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
