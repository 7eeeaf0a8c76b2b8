import { readFileSync } from "node:fs";

/** The text of a file of the kernel or of a process; empty if it cannot be read: a process can end at any time. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
