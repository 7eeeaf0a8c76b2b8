import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";

// Folders in which distributions and administrators install programs. The user's PATH is not searched, because its
// first `awk` may be any program. A path that a script names is not used: a downloaded folder would choose what runs
// here, and what goes into the image.
const FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"] as const;

/** A program of this machine by its name. */
export function machineProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find(existsSync);
}

/** The program of a script's first line: that path if it is one of this machine's programs, else by its name. */
export function machineInterpreter(path: string): string | undefined {
  const isOurs = FOLDERS.some((folder) => folder === dirname(path)) && existsSync(path);
  return isOurs ? path : machineProgram(basename(path));
}
