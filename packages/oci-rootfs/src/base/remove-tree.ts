import { chmodSync, lstatSync, readdirSync, rmSync } from "node:fs";

/**
 * Removes a file or tree that this user owns, if it exists. Layers may contain read-only directories, on which rm(1)
 * fails, and names that are not UTF-8.
 */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "EACCES" && code !== "EPERM" && code !== "ENOTEMPTY") throw error;
    openUp(Buffer.from(path));
    rmSync(path, { recursive: true, force: true });
  }
}

function openUp(path: Buffer): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) return;
  if ((stats.mode & 0o700) !== 0o700) chmodSync(path, 0o700);
  for (const name of readdirSync(path, "buffer")) openUp(Buffer.concat([path, Buffer.from("/"), name]));
}
