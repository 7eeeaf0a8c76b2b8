import { IdleMemory } from "@xfn/program/idle-memory";
import { collectAll } from "@xfn/program/v8-tuning";

// Longer than the pauses of a controller that processes a list.
const IDLE_MS = 5_000;

/** Returns the memory of past calls to the system while the server is idle. */
export function idleMemory(): IdleMemory {
  return new IdleMemory(IDLE_MS, collectAndTrim);
}

function collectAndTrim(): void {
  collectAll();
  void trim();
}

/** Makes glibc release free memory between live allocations, most of which was buffers of calls. */
async function trim(): Promise<void> {
  try {
    // Loaded here, so that it does not delay the start.
    const { default: koffi } = await import("koffi");
    koffi.load(null).func("int malloc_trim(size_t pad)")(0);
  } catch {
    // Other C libraries do not have this function.
  }
}
