import { getHeapStatistics } from "node:v8";
import type { RequestOutcome } from "@xfn/kubernetes";
import { IdleMemory } from "@xfn/program/idle-memory";
import { collectAll, collectOnce, growYoungSpace, startCollecting } from "@xfn/program/v8-tuning";

// Longer than the pauses within a burst of changes.
const IDLE_MS = 5_000;
const BURST_GROWTH = 1.25;
// By polls, between a few requests. V8 alone collects such garbage later.
const SLOW_GROWTH = 1.1;
/** A full collection of a larger heap at once takes too long: a second for 10,000 XRs. */
const LARGE_HEAP_BYTES = 128 * 1024 * 1024;
const LEASES = "leases.coordination.k8s.io";

/**
 * Collects the garbage of a burst, such as the creation of thousands of XRs, when no requests follow. V8 would keep
 * twice the live memory for the whole idle time.
 *
 * A collection shrinks the young generation to 1 MB, which never grows by itself. Reconciles would then cause a
 * collection each few milliseconds, and each would move their short-lived objects to the old generation. So the next
 * request grows it.
 */
export function idleHeap(heapBytes: () => number = usedBytes, collect: Collections = COLLECTIONS): IdleMemory {
  let after = 0;
  const collectIdle = (): void => {
    const before = heapBytes();
    const growth = before / after;
    if (growth < SLOW_GROWTH) {
      // The size after an incremental collection is known only now.
      after = Math.min(after, before);
      return;
    }
    if (before > LARGE_HEAP_BYTES) collect.start();
    else if (growth < BURST_GROWTH) collect.once();
    else collect.all();
    after = heapBytes();
  };
  return new IdleMemory(IDLE_MS, collectIdle, growYoungSpace);
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
  /** In steps, for a large heap. */
  start(): void;
}

const COLLECTIONS: Collections = { all: collectAll, once: collectOnce, start: startCollecting };

function usedBytes(): number {
  return getHeapStatistics().total_heap_size;
}
