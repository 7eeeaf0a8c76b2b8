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
/** V8 moves at most 12 MB of objects in a collection in steps, so that a sparse heap needs several. */
const MAX_COLLECTIONS = 12;
const NEXT_COLLECTION_MS = 5_000;
/** The part of a heap that nothing uses, above which another collection shrinks it. */
const SPARSE = 0.15;
const LEASES = "leases.coordination.k8s.io";

/**
 * Collects the garbage of a burst, such as the creation of thousands of XRs, when no requests follow. V8 would keep
 * twice the live memory for the whole idle time.
 *
 * A collection shrinks the young generation to 1 MB, which never grows by itself. Reconciles would then cause a
 * collection each few milliseconds, and each would move their short-lived objects to the old generation. So the next
 * request grows it.
 */
export function idleHeap(sizes: () => HeapSizes = heapSizes, collect: Collections = COLLECTIONS): IdleMemory {
  let after = 0;
  let left = 0;
  let next: NodeJS.Timeout | undefined;
  const step = (): void => {
    left--;
    collect.start();
    next = setTimeout(goOn, NEXT_COLLECTION_MS).unref();
  };
  const goOn = (): void => {
    // The size is known only now.
    const { total, used } = sizes();
    after = Math.min(after, total);
    if (left > 0 && used < total * (1 - SPARSE)) step();
  };
  const collectIdle = (): void => {
    const { total } = sizes();
    const growth = total / after;
    if (growth < SLOW_GROWTH) {
      // A single request, such as a new watch, has interrupted the collections in steps.
      goOn();
    } else if (total > LARGE_HEAP_BYTES) {
      after = total;
      left = MAX_COLLECTIONS;
      step();
    } else {
      if (growth < BURST_GROWTH) collect.once();
      else collect.all();
      after = sizes().total;
    }
  };
  return new IdleMemory(IDLE_MS, collectIdle, () => {
    clearTimeout(next);
    growYoungSpace();
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
  /** In steps, for a large heap. */
  start(): void;
}

const COLLECTIONS: Collections = { all: collectAll, once: collectOnce, start: startCollecting };

/** In bytes. */
interface HeapSizes {
  /** The memory of all pages. */
  readonly total: number;
  readonly used: number;
}

function heapSizes(): HeapSizes {
  const { total_heap_size: total, used_heap_size: used } = getHeapStatistics();
  return { total, used };
}
