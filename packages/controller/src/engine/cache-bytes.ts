import { getHeapStatistics } from "node:v8";
import { CacheBudget } from "@xfn/kubernetes";

// V8 derives its limit from the memory of the container: 259 MB in 512 MiB. The rest is for XRs, reconciles, and the
// second copy of a cache while a list replaces it.
const COMPOSED_PART = 3 / 8;
const KIND_PART = 1 / 4;
const REQUIRED_PART = 1 / 8;

/** The memory limits of the caches that contain tenants' objects. */
export interface CacheBytes {
  /** Shared by all composed resources. */
  readonly composed: CacheBudget;
  /** The bytes for one kind of composed resources, so that each kind leaves space for the others. */
  readonly kindBytes: number;
  /** Shared by all objects that functions and environments require. */
  readonly required: CacheBudget;
}

export function cacheBytes(): CacheBytes {
  const heapBytes = getHeapStatistics().heap_size_limit;
  return {
    composed: new CacheBudget(heapBytes * COMPOSED_PART),
    kindBytes: heapBytes * KIND_PART,
    required: new CacheBudget(heapBytes * REQUIRED_PART),
  };
}
