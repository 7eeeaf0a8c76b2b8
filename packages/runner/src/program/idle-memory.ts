import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// Longer than the pauses of a controller that works through a list.
const IDLE_MS = 5_000;

/** Gives back, while nobody calls, the memory that the start and calls left behind: V8 itself collects only when it needs room. */
export interface IdleMemory {
  /** To be called after the start and after each call. */
  used(): void;
  stop(): void;
}

export function giveBackWhenIdle(idleMs: number = IDLE_MS, collect: () => void = collectGarbage): IdleMemory {
  let timer: NodeJS.Timeout | undefined;
  return {
    used() {
      if (timer !== undefined) {
        timer.refresh();
        return;
      }
      timer = setTimeout(() => {
        timer = undefined;
        collect();
      }, idleMs);
      timer.unref();
    },
    stop: () => clearTimeout(timer),
  };
}

/** What V8's `--expose-gc` gives. */
type Collect = (options: { type: "major"; execution: "sync"; flavor: "last-resort" }) => void;

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  // A new context, as only those made after the flag was set have the function.
  const collect = runInNewContext("gc") as Collect;
  // Compiled code goes as well, and comes back with the next calls.
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
  void trim();
}

/** glibc keeps what is freed between things that are still in use: most of the buffers of calls. */
async function trim(): Promise<void> {
  try {
    // Only here, so that a start does not wait for it.
    const { default: koffi } = await import("koffi");
    koffi.load(null).func("int malloc_trim(size_t pad)")(0);
  } catch {
    // Other C libraries have no such function, and give memory back by themselves or not at all.
  }
}
