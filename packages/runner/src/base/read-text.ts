import { readFileSync } from "node:fs";

/** The text of a file of the kernel or of a process; empty if there is none: a process may end at any time. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
