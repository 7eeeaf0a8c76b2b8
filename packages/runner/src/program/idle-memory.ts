import { collectAll } from "@xfn/program/v8-tuning";

// Longer than the pauses of a controller that works through a list.
const IDLE_MS = 5_000;

/**
 * Returns the memory of past calls to the system while the server is idle. V8 itself collects only when it needs
 * space.
 */
export class IdleMemory {
  readonly #idleMs: number;
  readonly #collect: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(idleMs: number = IDLE_MS, collect: () => void = collectAndTrim) {
    this.#idleMs = idleMs;
    this.#collect = collect;
  }

  /** Must be called after the start and after each call. */
  used(): void {
    if (this.#timer !== undefined) {
      this.#timer.refresh();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#collect();
    }, this.#idleMs);
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
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
