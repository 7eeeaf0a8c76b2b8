import { IdleMemory } from "@xfn/program/idle-memory";
import { collectAll } from "@xfn/program/v8-tuning";

// Longer than the pauses of a controller that works through a list.
const IDLE_MS = 5_000;

/** Returns the memory of past calls to the system while the server is idle. */
export function idleMemory(): IdleMemory {
  return new IdleMemory(IDLE_MS, collectAndTrim);
}

function collectAndTrim(): void {
  collectAll();
  void trim();
}

/** Makes glibc release the free memory between live allocations, which is mostly buffers of calls. */
async function trim(): Promise<void> {
  try {
    // Load it here, so that the start does not wait for it.
    const { default: koffi } = await import("koffi");
    koffi.load(null).func("int malloc_trim(size_t pad)")(0);
  } catch {
    // Other C libraries do not have this function.
  }
}
