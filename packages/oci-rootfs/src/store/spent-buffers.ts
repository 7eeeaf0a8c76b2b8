/** Bytes between two collections of the young generation. Each takes about a millisecond. */
const STEP_BYTES = 4 * 1024 * 1024;

let bytes = 0;

/**
 * Reports that buffers of `count` bytes are no longer used. V8 counts a buffer as its small handle, so a large download can
 * leave up to 64 MB of unused buffers before a collection. Programs that run with `--expose-gc` get an earlier one.
 */
export function spentBuffers(count: number): void {
  bytes += count;
  if (bytes < STEP_BYTES) return;
  bytes = 0;
  globalThis.gc?.({ type: "minor" });
}
