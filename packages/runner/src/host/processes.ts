import { readdirSync, readlinkSync } from "node:fs";

/** Sends SIGKILL to a process, or to a group if negative. Ignores processes that have ended. */
export function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended.
  }
}

/** Whether a process exists. Zombies count. */
export function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Other processes that have this file as stdout, such as `pipe:[123]`; undefined if processes cannot be listed. */
export function processesWithStdout(stdout: string): number[] | undefined {
  return allProcesses()?.filter((pid) => pid !== process.pid && stdoutOf(pid) === stdout);
}

function allProcesses(): number[] | undefined {
  try {
    return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return undefined;
  }
}

function stdoutOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/1`);
  } catch {
    // The process has ended, or has closed its stdout.
    return undefined;
  }
}
