import { totalmem } from "node:os";
import process from "node:process";
import { SpareMemory } from "./spare-memory.ts";

/** The largest share of the memory to retain for the next message, and the same for the next output. */
const SPARE_SHARE = 1 / 16;

/** The retained part of an output's memory is a multiple of this. */
const OUTPUT_STEP_BYTES = 1024 * 1024;

/**
 * Reuses the memory of large messages and outputs. The kernel clears each page of new memory on first use, and V8
 * collects garbage for each new message. Together these take half of a runner's time for large messages. The memory of
 * one call is therefore retained for a second, for the next call.
 */
export class MessageMemory {
  readonly #messages: SpareMemory;
  readonly #outputs: SpareMemory;

  constructor(maxSpareBytes: number = defaultSpareBytes()) {
    this.#messages = new SpareMemory(maxSpareBytes);
    this.#outputs = new SpareMemory(maxSpareBytes);
  }

  /** Memory for a message. Only the received part takes physical memory. */
  take(length: number): Buffer {
    const spare = this.#messages;
    // A small message must not occupy a much larger spare.
    const memory = spare.length < length || spare.length > 2 * length ? undefined : spare.take();
    return memory === undefined ? Buffer.allocUnsafeSlow(length) : Buffer.from(memory, 0, length);
  }

  /** Returns the memory of a message, which must no longer be in use. */
  release({ buffer }: Buffer): void {
    if (buffer instanceof ArrayBuffer) this.#messages.keep(buffer);
  }

  /** The resizable memory of an earlier output. */
  takeOutput(): ArrayBuffer | undefined {
    return this.#outputs.take();
  }

  /** Returns the memory of an output that is no longer in use. Memory that cannot grow is not retained. */
  releaseOutput({ buffer, byteLength }: Uint8Array): void {
    if (!(buffer instanceof ArrayBuffer) || !buffer.resizable) return;
    // Small outputs must not occupy the memory of one large output.
    buffer.resize(Math.min(Math.ceil(byteLength / OUTPUT_STEP_BYTES) * OUTPUT_STEP_BYTES, buffer.byteLength));
    this.#outputs.keep(buffer);
  }
}

function defaultSpareBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) * SPARE_SHARE;
}
