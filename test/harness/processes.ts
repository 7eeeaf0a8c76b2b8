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

/** Returns the functions below a process: each is pid 1 in a pid namespace two levels below it. */
export function functionsBelow(root: number): number[] {
  const depth = processNumbers(root).length;
  return descendantsOf(root).filter((pid) => processNumbers(pid).slice(depth).at(1) === 1);
}

/** The pids of a process, from the outermost pid namespace to its own: NSpid in proc_pid_status(5). */
function processNumbers(pid: number): number[] {
  return (/^NSpid:\s+(.*)$/m.exec(processFile(pid, "status"))?.[1] ?? "").split(/\s+/).map(Number);
}

function unlessGone<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return otherwise;
    throw error;
  }
}
