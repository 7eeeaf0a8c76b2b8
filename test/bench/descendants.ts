import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

/** The processes that this one and its children started, and itself: those of functions are the runner's. */
export function descendants(): number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${entry}/stat`, "utf8")
        .replace(/^.*\) /, "")
        .split(" ");
      parents.set(Number(entry), Number(fields[1]));
    } catch {
      // The process has ended meanwhile.
    }
  }
  const isOurs = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isOurs(parents.get(pid)));
  return [...parents.keys()].filter((pid) => isOurs(parents.get(pid)));
}
