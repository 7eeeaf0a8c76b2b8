import { readdirSync, readFileSync } from "node:fs";

/** The children of a process. One that ends while one looks has none. */
export function childrenOf(pid: number): number[] {
  const tasks = unlessGone(() => readdirSync(`/proc/${pid}/task`), []);
  return tasks.flatMap((task) =>
    processFile(pid, `task/${task}/children`).trim().split(" ").filter(Boolean).map(Number),
  );
}

/** All processes below one. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** A file of a process in /proc, such as `cmdline`; "" where the process has ended. */
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
