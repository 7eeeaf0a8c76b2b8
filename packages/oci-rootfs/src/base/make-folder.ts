import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a directory and its parents. Existing ones are fine. Does not use Node's `recursive`, which loops and
 * allocates memory without end if the kernel answers ENOENT to every mkdir, as in /proc.
 *
 * @param mode of each new directory, before the umask
 */
export function makeFolder(path: string, mode = 0o777): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolder(above, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have created it.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
