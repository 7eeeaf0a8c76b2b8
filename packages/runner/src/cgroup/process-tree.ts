import { readdirSync, readFileSync } from "node:fs";

/** A process and its descendants. */
export function processTree(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
    );
    return [pid, ...children.flatMap((child) => processTree(Number(child)))];
  } catch {
    // It has ended.
    return [];
  }
}
