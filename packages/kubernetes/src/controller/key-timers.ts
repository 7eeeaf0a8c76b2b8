// The longest delay of a Node timer. A longer one would fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

/** One timer for each key. */
export class KeyTimers {
  readonly #onDue: (key: string) => void;
  readonly #timers = new Map<string, { readonly at: number; readonly timer: NodeJS.Timeout }>();

  constructor(onDue: (key: string) => void) {
    this.#onDue = onDue;
  }

  /** Sets the key's timer. If it is set already, the earlier time applies. */
  set(key: string, ms: number): void {
    const at = performance.now() + ms;
    const before = this.#timers.get(key);
    if (before !== undefined && before.at <= at) return;
    this.cancel(key);
    this.#timers.set(key, { at, timer: setTimeout(this.#onDue, Math.min(ms, MAX_TIMER_MS), key) });
  }

  cancel(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer);
    this.#timers.delete(key);
  }

  clear(): void {
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
