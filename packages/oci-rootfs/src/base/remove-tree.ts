import { chmodSync, type Dir, type Dirent, opendirSync, rmdirSync, unlinkSync } from "node:fs";

/** Names that are read from a directory at a time. */
const NAMES_AT_A_TIME = 64;

const SLASH = Buffer.from("/");

/**
 * Removes a file or tree that this user owns, if it exists. Layers may contain read-only directories, on which rm(1)
 * fails, and names that are not UTF-8. Each step is a short system call, so that a worker can be stopped. At most one
 * directory is open at a time, because a process that has too many files open must be able to remove some.
 *
 * @param maxEntries stops after about this many files and directories
 * @returns whether everything was removed
 */
export function removeTree(path: string, maxEntries: number = Number.POSITIVE_INFINITY): boolean {
  const directories: Buffer[] = [];
  const top = Buffer.from(path);
  if (!unlinked(top)) directories.push(top);
  let steps = 0;
  for (let directory = directories.at(-1); directory !== undefined; directory = directories.at(-1)) {
    if (steps >= maxEntries) return false;
    const entries = firstEntries(directory);
    steps += Math.max(1, entries.length);
    if (entries.length === 0) {
      removeEmpty(directory);
      directories.pop();
      continue;
    }
    for (const { name } of entries) {
      const at = Buffer.concat([directory, SLASH, name]);
      if (!unlinked(at)) directories.push(at);
    }
  }
  return true;
}

/** Removes anything but a directory. @returns false for a directory */
function unlinked(path: Buffer): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process may remove the same tree.
    if (code === "ENOENT") return true;
    if (code === "EISDIR") return false;
    throw error;
  }
}

function firstEntries(path: Buffer): Dirent<Buffer>[] {
  let directory: Dir;
  try {
    // Its entries can be listed and removed only if its mode permits it.
    chmodSync(path, 0o700);
    // Node's types lack paths and names that are buffers.
    const options = { encoding: "buffer" as BufferEncoding, bufferSize: NAMES_AT_A_TIME };
    directory = opendirSync(path, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  try {
    const entries: Dirent<Buffer>[] = [];
    while (entries.length < NAMES_AT_A_TIME) {
      const entry = directory.readSync() as Dirent<Buffer> | Dirent | null;
      if (entry === null) break;
      entries.push(entry as Dirent<Buffer>);
    }
    return entries;
  } finally {
    directory.closeSync();
  }
}

function removeEmpty(path: Buffer): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
