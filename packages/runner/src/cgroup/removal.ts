import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeGroup, words } from "./files.ts";

// A killed process leaves its group when the kernel has taken it down: a moment. A container of many processes with much
// memory takes tens of milliseconds; what is there after all of these (4 s together) is left to the next start's sweep.
const RETRY_MS = [1, 2, 5, 10, 20, 50, 100, 300, 500, 1_000, 2_000];

/** Takes groups away whose processes have ended or are ending; those that cannot be taken now, a little later. */
export function removeGroups(paths: readonly string[], attempt = 0): void {
  const left = paths.filter((path) => !removeGroup(path));
  const delay = RETRY_MS[attempt];
  if (left.length === 0 || delay === undefined) return;
  // The timer keeps this process alive: one that ended now would leave them behind.
  setTimeout(() => {
    for (const path of left) killGroup(path);
    removeGroups(left, attempt + 1);
  }, delay);
}

/** SIGKILL to every process of a group. */
export function killGroup(path: string): void {
  try {
    // All at once, also what is being forked (version 2, Linux 5.14).
    writeFileSync(join(path, "cgroup.kill"), "1", { flag: "r+" });
  } catch {
    for (const pid of visibleProcesses(path)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    }
  }
}

// The kernel shows processes that this pid namespace does not have as 0, which to kill(2) means our own process group.
function visibleProcesses(path: string): number[] {
  return words(join(path, "cgroup.procs"))
    .map(Number)
    .filter((pid) => Number.isSafeInteger(pid) && pid > 1);
}
