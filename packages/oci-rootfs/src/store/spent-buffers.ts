import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes that may go through before what held them is freed: a collection of the young takes about a millisecond. */
const STEP_BYTES = 4 * 1024 * 1024;

let collect: ((options: { type: "minor" }) => void) | undefined;
let bytes = 0;

/**
 * Tells that buffers of so many bytes have been used up. The engine counts a buffer as the few words that its handle takes, so
 * while a gigabyte streams through it would leave up to 64 MB of spent buffers lying about before it looks; this makes it look.
 */
export function spentBuffers(count: number): void {
  bytes += count;
  if (bytes < STEP_BYTES) return;
  bytes = 0;
  collect ??= exposed();
  collect({ type: "minor" });
}

/** The engine's own function, which only a context that is made under this flag has. */
function exposed(): (options: { type: "minor" }) => void {
  setFlagsFromString("--expose-gc");
  const found = runInNewContext("gc") as unknown;
  setFlagsFromString("--no-expose-gc");
  return typeof found === "function" ? (found as (options: { type: "minor" }) => void) : () => {};
}
