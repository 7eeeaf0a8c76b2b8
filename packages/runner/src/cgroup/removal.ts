import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeGroup, words } from "./files.ts";

// A killed process leaves its group when the kernel has freed it. For a container with many processes and much memory
// that takes tens of milliseconds. After all of these (4 s together), the sweep at the next start removes the rest.
const RETRY_MS = [1, 2, 5, 10, 20, 50, 100, 300, 500, 1_000, 2_000];

/** Removes groups whose processes have ended or are ending, and retries for a few seconds. */
export function removeGroups(paths: readonly string[], attempt = 0): void {
  const left = paths.filter((path) => !removeGroup(path));
  const delay = RETRY_MS[attempt];
  if (left.length === 0 || delay === undefined) return;
  // The timer keeps this process alive, so that it does not leave groups behind.
  setTimeout(() => {
    for (const path of left) killGroup(path);
    removeGroups(left, attempt + 1);
  }, delay);
}

/** Sends SIGKILL to every process of a group. */
export function killGroup(path: string): void {
  try {
    // Kills all at once, including processes that are being forked (version 2, Linux 5.14).
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

// The kernel lists processes of other pid namespaces as 0, which kill(2) interprets as this process's own group.
function visibleProcesses(path: string): number[] {
  return words(join(path, "cgroup.procs"))
    .map(Number)
    .filter((pid) => Number.isSafeInteger(pid) && pid > 1);
}
