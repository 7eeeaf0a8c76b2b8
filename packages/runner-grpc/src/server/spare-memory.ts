// Long enough for the next call of a busy runner.
const IDLE_MS = 1_000;

// Smaller buffers are cheap to allocate.
const MIN_BYTES = 1024 * 1024;

/** Retains one large buffer for a second, for the next call that needs one. */
export class SpareMemory {
  readonly #maxBytes: number;
  #memory: ArrayBuffer | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param maxBytes the largest buffer to retain */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The length of the buffer, in bytes; 0 if there is none. */
  get length(): number {
    return this.#memory?.byteLength ?? 0;
  }

  take(): ArrayBuffer | undefined {
    const memory = this.#memory;
    clearTimeout(this.#timer);
    this.#memory = undefined;
    return memory;
  }

  /** Retains a buffer that is no longer in use, unless a larger one is already retained. */
  keep(memory: ArrayBuffer): void {
    const { byteLength } = memory;
    if (byteLength < MIN_BYTES || byteLength > this.#maxBytes || this.length >= byteLength) return;
    clearTimeout(this.#timer);
    this.#memory = memory;
    this.#timer = setTimeout(() => this.take(), IDLE_MS).unref();
  }
}
