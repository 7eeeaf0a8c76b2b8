import { readdirSync, readFileSync } from "node:fs";

/** Returns the children of a process, or none if it exits meanwhile. */
export function childrenOf(pid: number): number[] {
  const tasks = unlessGone(() => readdirSync(`/proc/${pid}/task`), []);
  return tasks.flatMap((task) =>
    processFile(pid, `task/${task}/children`).trim().split(" ").filter(Boolean).map(Number),
  );
}

/** Returns all descendants of a process. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Reads a file of a process in /proc, such as `cmdline`, or "" if the process has exited. */
export function processFile(pid: number, name: string): string {
  return unlessGone(() => readFileSync(`/proc/${pid}/${name}`, "utf8"), "");
}

function unlessGone<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return otherwise;
    throw error;
  }
}
