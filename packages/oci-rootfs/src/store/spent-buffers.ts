/** Bytes between two collections of the young generation, each of which takes about a millisecond. */
const STEP_BYTES = 4 * 1024 * 1024;

let bytes = 0;

/**
 * Reports that buffers of this many bytes are no longer used. V8 accounts only for a buffer's small handle, so it would
 * retain up to 64 MB of them while a large image streams through. If the program exposes `gc`, they are collected here.
 */
export function spentBuffers(count: number): void {
  bytes += count;
  if (bytes < STEP_BYTES) return;
  bytes = 0;
  globalThis.gc?.({ type: "minor" });
}
