import { readFileSync, readlinkSync } from "node:fs";

/** Who made a group: a process, by its id, when it started, and the pid namespace in which the id means it. */
export interface GroupOwner {
  pid: number;
  /** Clock ticks after boot: field 22 of /proc/PID/stat. With it, a process id that was given out again is told apart. */
  startTime: string;
  /** Inode of the pid namespace: another container that shares this cgroup tree has processes that we cannot see. */
  pidNamespace: string;
}

const pattern = /^xfn-(\d+)-(\d+)-(\d+)-\d+$/;

let self: GroupOwner | undefined;
let count = 0;

/** A name for the groups of the next call, not used before by anyone: `xfn-PID-START-NAMESPACE-COUNT`. */
export function nextGroupName(): string {
  self ??= { pid: process.pid, startTime: startTime(process.pid) ?? "0", pidNamespace: ownPidNamespace() };
  count++;
  return `xfn-${self.pid}-${self.startTime}-${self.pidNamespace}-${count}`;
}

/** Who made the group of this name; undefined for groups that are not a call's. */
export function ownerOf(name: string): GroupOwner | undefined {
  const [, pid, startTime, pidNamespace] = pattern.exec(name) ?? [];
  if (pid === undefined || startTime === undefined || pidNamespace === undefined) return undefined;
  return { pid: Number(pid), startTime, pidNamespace };
}

/** Whether the process that made a group has ended, as far as can be known for certain. */
export function isGone(owner: GroupOwner): boolean {
  return owner.pidNamespace === ownPidNamespace() && startTime(owner.pid) !== owner.startTime;
}

/** When a process started, in clock ticks after boot; undefined where there is none, or it is a zombie. */
export function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses, which may itself have spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function ownPidNamespace(): string {
  return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
}
