import { totalmem } from "node:os";
import process from "node:process";
import { SpareMemory } from "./spare-memory.ts";

/** The largest share of the memory that waits for the next message, and for the next output. */
const SPARE_SHARE = 1 / 16;

/** The part of an output's memory that waits is a multiple of it. */
const OUTPUT_STEP_BYTES = 1024 * 1024;

/**
 * Memory of large messages and outputs. The kernel clears each page of new memory when it is first used, and V8
 * collects garbage for each new message: together half of a runner's time for large messages. So the memory of one call
 * waits for the next one for a second.
 */
export class MessageMemory {
  readonly #messages: SpareMemory;
  readonly #outputs: SpareMemory;

  constructor(maxSpareBytes: number = defaultSpareBytes()) {
    this.#messages = new SpareMemory(maxSpareBytes);
    this.#outputs = new SpareMemory(maxSpareBytes);
  }

  /** Memory for a message. Only the part that arrives takes memory. */
  take(length: number): Buffer {
    const spare = this.#messages;
    // A spare that is much larger would be occupied by a small message.
    const memory = spare.length < length || spare.length > 2 * length ? undefined : spare.take();
    return memory === undefined ? Buffer.allocUnsafeSlow(length) : Buffer.from(memory, 0, length);
  }

  /** Returns memory of a message. Nothing may use it any more. */
  release({ buffer }: Buffer): void {
    if (buffer instanceof ArrayBuffer) this.#messages.keep(buffer);
  }

  /** The resizable memory of an earlier output. */
  takeOutput(): ArrayBuffer | undefined {
    return this.#outputs.take();
  }

  /** Returns an output that nothing uses any more. Memory that cannot grow is of no use for another one. */
  releaseOutput({ buffer, byteLength }: Uint8Array): void {
    if (!(buffer instanceof ArrayBuffer) || !buffer.resizable) return;
    // Small outputs must not occupy what one large output needed.
    buffer.resize(Math.min(Math.ceil(byteLength / OUTPUT_STEP_BYTES) * OUTPUT_STEP_BYTES, buffer.byteLength));
    this.#outputs.keep(buffer);
  }
}

function defaultSpareBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) * SPARE_SHARE;
}
