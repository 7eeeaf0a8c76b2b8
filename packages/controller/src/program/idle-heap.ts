import { getHeapStatistics } from "node:v8";
import { IdleMemory } from "@xfn/program/idle-memory";
import { collectAll, growYoungSpace } from "@xfn/program/v8-tuning";

// Longer than the pauses within a burst of changes.
const IDLE_MS = 5_000;
// A collection of the heap of 20,000 XRs takes half a second, so small bursts are left to V8. The polls of an idle
// controller make so little garbage that V8 may leave it for hours.
const GROWTH = 1.1;

/**
 * Collects the garbage of a burst, such as the creation of thousands of XRs, when no requests follow. V8 would keep
 * twice the live memory for the whole idle time.
 */
export function idleHeap(heapBytes: () => number = usedBytes, collect: () => void = collectUnused): IdleMemory {
  let after = 0;
  return new IdleMemory(IDLE_MS, () => {
    if (heapBytes() < after * GROWTH) return;
    collect();
    after = heapBytes();
  });
}

// The collection shrinks the young generation to 1 MB, which never grows by itself. Reconciles then cause a collection
// each few milliseconds, and each moves their short-lived objects to the old generation.
function collectUnused(): void {
  collectAll();
  growYoungSpace();
}

function usedBytes(): number {
  return getHeapStatistics().total_heap_size;
}
