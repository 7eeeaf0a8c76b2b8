import { readFileSync } from "node:fs";
import { totalmem } from "node:os";

/** The share of the memory that one process of a function without a memory limit may use. */
const SHARE = 0.75;

let known: number | undefined;

/**
 * RLIMIT_DATA for a function without a memory limit: a runaway process fails to allocate before the machine, or the
 * runner's own cgroup, runs out of memory. RLIMIT_DATA counts private writable memory. RLIMIT_AS would also count
 * reserved memory, which Node, Go and Java reserve by the gigabyte.
 */
export function dataRlimit(): number {
  known ??= boundOf(Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY), hardLimit());
  return known;
}

/** @param memory bytes that the runner can use @param hard the hard limit, which cannot be raised */
export function boundOf(memory: number, hard: number): number {
  return Math.min(Math.floor(memory * SHARE), hard);
}

function hardLimit(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max data size\s+\S+\s+(\d+)/m.exec(limits)?.[1] ?? Number.MAX_SAFE_INTEGER);
}
