import { readdirSync, readlinkSync } from "node:fs";
import { readText } from "../base/read-text.ts";
import { processTree } from "../cgroup/process-tree.ts";

/** The state of a listening socket in proc_net_tcp(5). */
const LISTEN = "0A";

/**
 * Whether a process or its descendants listen on a TCP port of their network, and no other process does. In the
 * machine's network any program can listen on it.
 */
export function ownsPort(pid: number, port: number): boolean {
  const listening = ["tcp", "tcp6"].flatMap((table) => listeners(`/proc/${pid}/net/${table}`, port));
  const own = new Set(processTree(pid).flatMap(socketsOf));
  return listening.length > 0 && listening.every((inode) => own.has(inode));
}

/** Inodes of the sockets that listen on a port. */
function listeners(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  // Machines without IPv6 do not have the second table.
  return readText(table)
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local, , state, , , , , , inode]) =>
      local?.endsWith(suffix) === true && state === LISTEN && inode !== undefined ? [inode] : [],
    );
}

/** Inodes of the sockets that a process has. */
function socketsOf(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).flatMap((fd) => {
      const target = readlinkSync(`${directory}/${fd}`);
      return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [];
    });
  } catch {
    // The process has ended, or has closed a descriptor: the next attempt looks again.
    return [];
  }
}
