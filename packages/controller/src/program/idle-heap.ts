import { getHeapStatistics } from "node:v8";
import { IdleMemory } from "@xfn/program/idle-memory";
import { collectAll } from "@xfn/program/v8-tuning";

// Longer than the pauses within a burst of changes.
const IDLE_MS = 5_000;
// A collection of the heap of 20,000 XRs takes half a second, so small bursts are left to V8.
const GROWTH = 1.25;

/**
 * Collects the garbage of a burst, such as the creation of thousands of XRs, when no requests follow. V8 would keep
 * twice the live memory for the whole idle time.
 */
export function idleHeap(heapBytes: () => number = usedBytes, collect: () => void = collectAll): IdleMemory {
  let after = 0;
  return new IdleMemory(IDLE_MS, () => {
    if (heapBytes() < after * GROWTH) return;
    collect();
    after = heapBytes();
  });
}

function usedBytes(): number {
  return getHeapStatistics().total_heap_size;
}
