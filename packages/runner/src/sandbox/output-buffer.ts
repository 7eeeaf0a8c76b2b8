/** The size of the first buffer, which is enough for nearly all answers. */
const FIRST_BYTES = 64 * 1024;

/**
 * A large answer grows in place, so that it is never copied. Each step is the current size, within these limits. V8
 * counts all of the memory, used or not, and collects garbage sooner.
 */
const MIN_STEP_BYTES = 1024 * 1024;
const MAX_STEP_BYTES = 4 * 1024 * 1024;

/** The capacity of a large pipe, which one system call reads whole. */
const READ_BYTES = 1024 * 1024;

/** The smallest space for which a read is worth its system call. */
const MIN_SPACE = 8 * 1024;

/** Collects output in the memory into which it is read, without copies. */
export class OutputBuffer {
  readonly #maxBytes: number;
  readonly #earlier: () => ArrayBuffer | undefined;
  #memory: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** Address space for the largest output. Only the used part takes physical memory. */
  #growing: ArrayBuffer | undefined;
  #used = 0;

  /**
   * @param maxBytes the least capacity
   * @param earlier returns the memory of an earlier output with this capacity, for a large output
   */
  constructor(maxBytes: number, earlier: () => ArrayBuffer | undefined = () => undefined) {
    this.#maxBytes = maxBytes + MAX_STEP_BYTES;
    this.#earlier = earlier;
  }

  /** Number of bytes so far. */
  get size(): number {
    return this.#used;
  }

  /** The buffer for the next read. */
  space(): Buffer {
    if (this.#memory.length - this.#used < MIN_SPACE) this.#grow();
    return this.#memory.subarray(this.#used, this.#used + READ_BYTES);
  }

  /** Records the number of bytes read into {@link space}. */
  add(bytes: number): void {
    this.#used += bytes;
  }

  clear(): void {
    this.#memory = Buffer.alloc(0);
    this.#growing = undefined;
    this.#used = 0;
  }

  bytes(): Buffer {
    return this.#memory.subarray(0, this.#used);
  }

  #grow(): void {
    const { length } = this.#memory;
    const step = Math.min(Math.max(length, MIN_STEP_BYTES), MAX_STEP_BYTES);
    const size = Math.min(length + step, this.#maxBytes);
    if (this.#growing === undefined) {
      const earlier = this.#earlier();
      const isOfUse = earlier?.maxByteLength === this.#maxBytes && earlier.byteLength >= size;
      this.#growing = isOfUse ? earlier : new ArrayBuffer(size, { maxByteLength: this.#maxBytes });
      this.#memory.copy(Buffer.from(this.#growing), 0, 0, this.#used);
    } else {
      this.#growing.resize(size);
    }
    this.#memory = Buffer.from(this.#growing, 0, this.#growing.byteLength);
  }
}
