/**
 * Returns memory to the system while a server is idle. V8 itself collects only when it needs space.
 */
export class IdleMemory {
  readonly #idleMs: number;
  readonly #collect: () => void;
  readonly #wake: () => void;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param idleMs milliseconds without a use after which memory is collected
   * @param collect collects it
   * @param wake prepares memory for the first use after a collection
   */
  constructor(idleMs: number, collect: () => void, wake: () => void = () => undefined) {
    this.#idleMs = idleMs;
    this.#collect = collect;
    this.#wake = wake;
  }

  /** Must be called after the start and after each use. */
  used(): void {
    if (this.#timer !== undefined) {
      this.#timer.refresh();
      return;
    }
    this.#wake();
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
