import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { CodedError } from "@xfn/errors";

/** A data folder that a cluster cannot use. */
export class DataFolderError extends CodedError<"InUse" | "Unwritable"> {
  override readonly name = "DataFolderError";
  /** The process that uses the folder may end. */
  override readonly retryable: boolean = this.code === "InUse";
}

/**
 * Locks a data folder, because the etcd of a second cluster would wait for the first one's without a message. Replaces
 * the lock of a process that has exited.
 *
 * @throws DataFolderError if a running process has the lock, or the folder cannot be written to
 */
export function lockFolder(folder: string): Disposable {
  const path = join(folder, "lock");
  if (!writeLock(folder, path)) {
    const owner = Number(readFileSync(path, "utf8"));
    if (isAlive(owner))
      throw new DataFolderError(
        "InUse",
        `${folder} is in use by process ${owner}; if that is another program, remove ${path}`,
      );
    rmSync(path, { force: true });
    if (!writeLock(folder, path)) throw new DataFolderError("InUse", `${folder} is in use`);
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

function writeLock(folder: string, path: string): boolean {
  try {
    writeFileSync(path, `${process.pid}\n`, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw new DataFolderError("Unwritable", `cannot write to ${folder}: ${(error as Error).message}`, { cause: error });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
