import { lstatSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { mayBeRunning, ownName } from "./process-identity.ts";

/** Creates a lock with the name of this process, atomically even if the process is killed. False if it exists. */
export function takeLock(path: string): boolean {
  try {
    symlinkSync(ownName(), path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

export function isLocked(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Removes the lock of a process that has exited. False for that of a process that may be running. */
export function removeAbandonedLock(path: string): boolean {
  try {
    if (mayBeRunning(readlinkSync(path), path)) return false;
  } catch {
    return false;
  }
  rmSync(path, { force: true });
  return true;
}
