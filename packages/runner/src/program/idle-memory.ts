import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// Longer than the pauses of a controller that works through a list.
const IDLE_MS = 5_000;

/** Gives back, while nobody calls, the memory that calls left behind: V8 itself collects only when it needs room. */
export interface IdleMemory {
  /** To be called after each call. */
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

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  // A new context, as only those made after the flag was set have the function.
  (runInNewContext("gc") as () => void)();
}
