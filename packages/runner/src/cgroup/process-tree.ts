import { readdirSync } from "node:fs";
import { readText } from "../base/read-text.ts";

/** A process and its descendants; empty if the process has ended. */
export function processTree(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readText(`/proc/${pid}/task/${task}/children`).split(" ").filter(Boolean),
    );
    return [pid, ...children.flatMap((child) => processTree(Number(child)))];
  } catch {
    return [];
  }
}
