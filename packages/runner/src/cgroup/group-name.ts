import { pidNamespace, processStartTime } from "@xfn/oci-rootfs";

/** The process that created a group. The start time distinguishes it from a later process with the same id. */
export interface GroupOwner {
  pid: number;
  /** As {@link processStartTime} reads it. */
  startTime: string;
  /**
   * Inode of the pid namespace. Other containers that share this cgroup tree have processes that are invisible here.
   */
  pidNamespace: string;
}

const pattern = /^xfn-(\d+)-(\d+)-(\d+)-\d+$/;

let self: GroupOwner | undefined;
let count = 0;

/** Returns a unique name for the groups of the next call: `xfn-PID-START-NAMESPACE-COUNT`. */
export function nextGroupName(): string {
  self ??= {
    pid: process.pid,
    startTime: processStartTime(process.pid) ?? "0",
    pidNamespace: pidNamespace() ?? "0",
  };
  count++;
  return `xfn-${self.pid}-${self.startTime}-${self.pidNamespace}-${count}`;
}

/** The process that created the group with this name; undefined for groups of other programs. */
export function ownerOf(name: string): GroupOwner | undefined {
  const [, pid, startTime, namespace] = pattern.exec(name) ?? [];
  if (pid === undefined || startTime === undefined || namespace === undefined) return undefined;
  return { pid: Number(pid), startTime, pidNamespace: namespace };
}

/** Whether the process that created a group has certainly ended. */
export function isGone(owner: GroupOwner): boolean {
  return owner.pidNamespace === pidNamespace() && processStartTime(owner.pid) !== owner.startTime;
}
