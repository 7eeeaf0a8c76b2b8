import { readText } from "../base/read-text.ts";
import { processTree } from "../cgroup/process-tree.ts";

/** Memory and processor time of a process and its descendants. Too slow for each call, but cheap every few seconds. */
export function usageOf(pid: number): { bytes: number; cpuMs: number } {
  let [bytes, cpuMs] = [0, 0];
  for (const process of processTree(pid)) {
    bytes += memory(process);
    cpuMs += processorTime(process);
  }
  return { bytes, cpuMs };
}

// Shared pages count once: all containers of an image share its programs.
function memory(pid: number): number {
  const proportional = /^Pss:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/smaps_rollup`));
  const resident = proportional ?? /^VmRSS:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/status`));
  return Number(resident?.[1] ?? 0) * 1024;
}

// The kernel reports 100 ticks a second to programs (proc_pid_stat(5)).
const TICK_MS = 10;

function processorTime(pid: number): number {
  // The name in parentheses may contain anything, so fields 14 to 17 are counted from its end. They hold its own time,
  // and the time of ended children for which it waited.
  const [, fields] = /\) (.*)$/s.exec(readText(`/proc/${pid}/stat`)) ?? [];
  const words = fields?.split(" ") ?? [];
  return words.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS;
}
