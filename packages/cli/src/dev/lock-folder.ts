import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { usageError } from "../errors.ts";

/**
 * Keeps a second cluster out of a data folder: its etcd would wait for the first one's without a word. The lock of a process that
 * is no more is taken over.
 *
 * @throws CliError `Usage` where a living process has it, or the folder cannot be written to
 */
export function lockFolder(folder: string): Disposable {
  const path = join(folder, "lock");
  const take = (): boolean => {
    try {
      writeFileSync(path, `${process.pid}\n`, { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw usageError(`--data-dir: cannot write to ${folder}: ${(error as Error).message}`);
    }
  };
  if (!take()) {
    const holder = Number(readFileSync(path, "utf8"));
    if (isAlive(holder))
      throw usageError(
        `--data-dir: ${folder} is in use by process ${holder}; if that is another program, remove ${path}`,
      );
    rmSync(path, { force: true });
    if (!take()) throw usageError(`--data-dir: ${folder} is in use`);
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
