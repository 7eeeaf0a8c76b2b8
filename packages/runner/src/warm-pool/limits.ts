/** The number of pre-started sandboxes: none; as many as recently ran at once; or N of each image in use. */
export type WarmPoolPolicy = "off" | "adaptive" | number;

/** Limits over all images. */
export interface WarmPoolLimits {
  /** The largest number of pre-started sandboxes; default {@link DEFAULT_WARM_POOL_LIMITS}.count. */
  count?: number | undefined;
  /** The largest measured memory of all pre-started sandboxes, in bytes. */
  memoryBytes?: number | undefined;
  /**
   * Replaces sandboxes that have waited for this long, and keeps none for images that were not called for this long. In
   * milliseconds.
   */
  idleMs?: number | undefined;
}

/**
 * A waiting Node function takes some 7 MB, and a small program less than 1 MB: unless functions are large, the count is
 * reached first.
 */
export const DEFAULT_WARM_POOL_LIMITS: Readonly<Record<keyof WarmPoolLimits, number>> = {
  count: 16,
  memoryBytes: 512 * 1024 * 1024,
  idleMs: 5 * 60_000,
};

/** The limits, with defaults for those that are not set. */
export function withDefaultLimits(limits: WarmPoolLimits = {}): Record<keyof WarmPoolLimits, number> {
  const {
    count = DEFAULT_WARM_POOL_LIMITS.count,
    memoryBytes = DEFAULT_WARM_POOL_LIMITS.memoryBytes,
    idleMs = DEFAULT_WARM_POOL_LIMITS.idleMs,
  } = limits;
  return { count, memoryBytes, idleMs };
}

/**
 * The largest share of a processor that a sandbox may use while it waits. Above it, its function is considered to
 * compute.
 */
export const BUSY_SHARE = 0.1;

/** Why the pool discarded a sandbox. */
export type DiscardReason =
  /** It waited for `idleMs`. */
  | "age"
  /** Calls of its image became fewer. */
  | "unwanted"
  /** A more recently called image needed its slot. */
  | "displaced"
  /** The pool exceeded its memory bound. */
  | "memory"
  /** It used the processor while it waited. */
  | "busy"
  /** It exited on its own. */
  | "ended"
  /** The runner was closed, or lost its sandbox host. */
  | "closed";
