import { totalmem } from "node:os";
import process from "node:process";

// Long enough for the next call of a busy runner.
const IDLE_MS = 1_000;

/** The largest share of the memory that waits for the next message. */
const SPARE_SHARE = 1 / 16;

// The memory of a smaller message is cheap.
const MIN_BYTES = 1024 * 1024;

/**
 * Memory of large messages. The kernel clears each page of new memory when it is first used, and V8 collects garbage
 * for each new message: together a quarter of a runner's time for large messages. So the memory of one message waits
 * for the next one for a second.
 */
export class MessageMemory {
  readonly #maxSpareBytes: number;
  #spare: Buffer | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(maxSpareBytes: number = defaultSpareBytes()) {
    this.#maxSpareBytes = maxSpareBytes;
  }

  /** Memory for a message. Only the part that arrives takes memory. */
  take(length: number): Buffer {
    const spare = this.#spare;
    // A spare that is much larger would be occupied by a small message.
    if (spare === undefined || spare.length < length || spare.length > 2 * length) {
      return Buffer.allocUnsafeSlow(length);
    }
    this.#drop();
    return spare.subarray(0, length);
  }

  /** Returns memory that was taken. Nothing may use it any more. */
  release(memory: Buffer): void {
    const { byteLength } = memory.buffer;
    if (byteLength < MIN_BYTES || byteLength > this.#maxSpareBytes) return;
    if (this.#spare !== undefined && this.#spare.length >= byteLength) return;
    this.#drop();
    this.#spare = Buffer.from(memory.buffer);
    this.#timer = setTimeout(() => this.#drop(), IDLE_MS).unref();
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#spare = undefined;
  }
}

function defaultSpareBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) * SPARE_SHARE;
}
