/** Which sandboxes are started before their call: none; as many as were in use at once lately; or N of each image in use. */
export type StartEarly = "off" | "adaptive" | number;

/** Bounds over all images. */
export interface StartEarlyLimits {
  /** Sandboxes that wait; default {@link DEFAULT_START_EARLY_LIMITS}.count. */
  count?: number;
  /** Memory of all that wait, in bytes, as measured. */
  memoryBytes?: number;
  /** A sandbox that has waited for so long is replaced; an image that was not called for so long has none. Milliseconds. */
  idleMs?: number;
}

/** A waiting Node function takes some 7 MB, a small program under 1 MB: the count is the bound that is met, unless functions are large. */
export const DEFAULT_START_EARLY_LIMITS: Readonly<Required<StartEarlyLimits>> = {
  count: 16,
  memoryBytes: 512 * 1024 * 1024,
  idleMs: 5 * 60_000,
};

/** Why a sandbox that waited was thrown away. */
export type DiscardReason =
  /** It waited for `idleMs`. */
  | "age"
  /** Its image is called less than it was. */
  | "unwanted"
  /** Its place was needed for an image that was called more recently. */
  | "displaced"
  /** The memory of all that wait passed its bound. */
  | "memory"
  /** It used the processor while it waited. */
  | "busy"
  /** It ended by itself. */
  | "ended"
  /** The runner was closed, or lost its sandbox host. */
  | "closed";
