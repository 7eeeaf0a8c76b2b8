/**
 * Returns memory to the system while a server is idle. V8 itself collects only when it needs space.
 */
export class IdleMemory {
  readonly #idleMs: number;
  readonly #collect: () => void;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param idleMs milliseconds without a use after which memory is collected
   * @param collect collects it
   */
  constructor(idleMs: number, collect: () => void) {
    this.#idleMs = idleMs;
    this.#collect = collect;
  }

  /** Must be called after the start and after each use. */
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
