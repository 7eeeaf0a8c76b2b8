import { randomBytes } from "node:crypto";
import { lstatSync, readFileSync, readlinkSync } from "node:fs";

/** Processes of other machines or process namespaces cannot be asked whether they live: only the age of what they left tells. */
const FOREIGN_MS = 24 * 60 * 60 * 1000;

interface ProcessIdentity {
  readonly host: string;
  readonly namespace: string;
  readonly started: string;
}

let own: ProcessIdentity | undefined;

/** Names one process among all that may share a store, and something of its own: for files that are to go when it has gone. */
export function ownName(): string {
  own ??= identify();
  return `${own.host}.${own.namespace}.${process.pid}.${own.started}.${randomBytes(4).toString("hex")}`;
}

/** Whether the process that called something by `ownName()` may still be there. */
export function mayBeRunning(name: string, path: string): boolean {
  own ??= identify();
  const [host, namespace, pid = "", started] = name.split(".");
  if (host === own.host && namespace === own.namespace) return isRunning(pid, started);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs <= FOREIGN_MS;
}

/** Names the time since the machine was started. */
export function bootId(): string {
  return attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
}

function identify(): ProcessIdentity {
  return {
    host: bootId().slice(0, 8),
    namespace: attempt(() => /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0"),
    started: attempt(() => startTime("self")),
  };
}

function attempt(call: () => string): string {
  try {
    return call();
  } catch {
    return "0";
  }
}

/** Field 22 of /proc/PID/stat, which a later process of the same number does not share. */
function startTime(pid: string): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
}

function isRunning(pid: string, started: string | undefined): boolean {
  try {
    return /^\d+$/.test(pid) && startTime(pid) === started;
  } catch {
    return false;
  }
}
