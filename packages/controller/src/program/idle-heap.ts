import { getHeapStatistics } from "node:v8";
import type { RequestOutcome } from "@xfn/kubernetes";
import { IdleMemory } from "@xfn/program/idle-memory";
import { collectAll, collectOnce, growYoungSpace } from "@xfn/program/v8-tuning";

// Longer than the pauses within a burst of changes.
const IDLE_MS = 5_000;
/** The growth of a burst. A full collection of the heap of 20,000 XRs takes about a second. */
const BURST_GROWTH = 1.25;
/** The growth by polls, between a few requests. V8 alone collects such garbage later. */
const SLOW_GROWTH = 1.1;
const LEASES = "leases.coordination.k8s.io";

/**
 * Collects the garbage of a burst, such as the creation of thousands of XRs, when no requests follow. V8 would keep
 * twice the live memory for the whole idle time.
 */
export function idleHeap(heapBytes: () => number = usedBytes, collect: Collections = COLLECTIONS): IdleMemory {
  let after = 0;
  return new IdleMemory(IDLE_MS, () => {
    const growth = heapBytes() / after;
    if (growth < SLOW_GROWTH) return;
    if (growth < BURST_GROWTH) collect.once();
    else collect.all();
    after = heapBytes();
  });
}

/** Whether a request shows that the controller is busy. An idle leader renews its lease every few seconds, too. */
export function isWork({ resource }: Pick<RequestOutcome, "resource">): boolean {
  return resource !== LEASES;
}

/** How {@link idleHeap} collects. */
interface Collections {
  /** After a burst. */
  all(): void;
  /** After slow growth: in half the time. */
  once(): void;
}

const COLLECTIONS: Collections = { all: collectUnused, once: collectOnce };

// The collection shrinks the young generation to 1 MB, which never grows by itself. Reconciles then cause a collection
// each few milliseconds, and each moves their short-lived objects to the old generation.
function collectUnused(): void {
  collectAll();
  growYoungSpace();
}

function usedBytes(): number {
  return getHeapStatistics().total_heap_size;
}
