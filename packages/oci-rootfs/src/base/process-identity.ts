import { randomBytes } from "node:crypto";
import { lstatSync, readFileSync, readlinkSync } from "node:fs";

/** Files of processes on other machines or in other PID namespaces count as abandoned after this time. */
const FOREIGN_MS = 24 * 60 * 60 * 1000;

const UNKNOWN = "0";

interface ProcessIdentity {
  readonly host: string;
  readonly namespace: string;
  readonly started: string;
}

let own: ProcessIdentity | undefined;

/**
 * A unique name that identifies this process among all that share a store. Files named so can be removed after its
 * exit.
 */
export function ownName(): string {
  own ??= identify();
  return `${own.host}.${own.namespace}.${process.pid}.${own.started}.${randomBytes(4).toString("hex")}`;
}

/** Whether the process that chose a name by `ownName()` may still be running. */
export function mayBeRunning(name: string, path: string): boolean {
  own ??= identify();
  const [host, namespace, pid = "", started] = name.split(".");
  if (host === own.host && namespace === own.namespace) return isRunning(pid, started);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs <= FOREIGN_MS;
}

/** Identifies the current boot of this machine. */
function bootId(): string {
  return attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? UNKNOWN;
}

function identify(): ProcessIdentity {
  return {
    host: bootId().slice(0, 8),
    namespace: pidNamespace() ?? UNKNOWN,
    started: processStartTime("self") ?? UNKNOWN,
  };
}

/** Inode of this process's pid namespace; undefined without /proc. */
export function pidNamespace(): string | undefined {
  return attempt(() => /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0]);
}

/**
 * When a process started, in clock ticks after boot: field 22 of /proc/PID/stat (proc_pid_stat(5)). A later process
 * with the same id has another start time. Undefined if there is no such process, or it is a zombie.
 */
export function processStartTime(pid: number | "self"): string | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  // The second field is the program's name in parentheses, which may contain spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields?.[0] === "Z" ? undefined : fields?.[19];
}

function attempt<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

function isRunning(pid: string, started: string | undefined): boolean {
  return /^\d+$/.test(pid) && started !== undefined && processStartTime(Number(pid)) === started;
}
