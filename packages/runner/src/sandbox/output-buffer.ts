/** Nearly all answers fit, and take no more than they need. */
const FIRST_BYTES = 64 * 1024;

/** By how much a large one grows: in its place, so that nothing of it is ever copied. */
const STEP_BYTES = 4 * 1024 * 1024;

/** What a large pipe holds: one system call takes all of it. */
const READ_BYTES = 1024 * 1024;

/** A read into less than this is not worth its system call. */
const MIN_SPACE = 8 * 1024;

/** Collects what is read in the memory that it was read into. */
export class OutputBuffer {
  readonly #maxBytes: number;
  #memory: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** Address space for all that there may be, of which only what is used takes memory. */
  #growing: ArrayBuffer | undefined;
  #used = 0;

  /** @param maxBytes - how much it holds at least */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes + STEP_BYTES;
  }

  /** Bytes so far. */
  get size(): number {
    return this.#used;
  }

  /** Where the next read may put what it reads. */
  space(): Buffer {
    if (this.#memory.length - this.#used < MIN_SPACE) this.#grow();
    return this.#memory.subarray(this.#used, this.#used + READ_BYTES);
  }

  /** So many bytes were put into {@link space}. */
  add(bytes: number): void {
    this.#used += bytes;
  }

  /** Forgets everything. */
  clear(): void {
    this.#memory = Buffer.alloc(0);
    this.#growing = undefined;
    this.#used = 0;
  }

  /** All that was collected. */
  bytes(): Buffer {
    return this.#memory.subarray(0, this.#used);
  }

  #grow(): void {
    const size = Math.min(this.#memory.length + STEP_BYTES, this.#maxBytes);
    if (this.#growing === undefined) {
      this.#growing = new ArrayBuffer(size, { maxByteLength: this.#maxBytes });
      this.#memory.copy(Buffer.from(this.#growing), 0, 0, this.#used);
    } else {
      this.#growing.resize(size);
    }
    this.#memory = Buffer.from(this.#growing, 0, size);
  }
}
