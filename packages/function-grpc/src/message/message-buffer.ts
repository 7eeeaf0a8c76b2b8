/** A compression flag and the length of the message. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
const PREFIX_BYTES = 5;

/**
 * Memory to allocate before the message arrives. A larger message gets at most twice the size of its received bytes.
 */
const AHEAD_BYTES = 1024 * 1024;

/**
 * The one message of a call, as it arrives. Chunks are copied: the peer can send a byte at a time, and each chunk takes
 * some 200 bytes plus the memory of its read.
 */
export class MessageBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  add(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#bytes.length) this.#grow(needed);
    this.#bytes.set(chunk, this.#length);
    this.#length = needed;
  }

  /** The size of the message, in bytes: the size in its prefix or the received size, whichever is larger. */
  get size(): number {
    return Math.max(this.#announced, this.#length - PREFIX_BYTES);
  }

  /** Whether more bytes have arrived than the prefix announces. */
  get hasMore(): boolean {
    return this.#length >= PREFIX_BYTES && this.#length - PREFIX_BYTES > this.#announced;
  }

  get isCompressed(): boolean {
    return this.#length > 0 && this.#bytes[0] !== 0;
  }

  /** The message; undefined unless exactly one message has arrived. */
  message(): Buffer | undefined {
    const isWhole = this.#length >= PREFIX_BYTES && this.#length - PREFIX_BYTES === this.#announced;
    return isWhole ? this.#bytes.subarray(PREFIX_BYTES, this.#length) : undefined;
  }

  clear(): void {
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }

  get #announced(): number {
    return this.#length < PREFIX_BYTES ? 0 : this.#bytes.readUInt32BE(1);
  }

  #grow(needed: number): void {
    const ahead = Math.min(PREFIX_BYTES + this.#announced, Math.max(2 * this.#bytes.length, AHEAD_BYTES));
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, ahead));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** The prefix of an uncompressed message. */
export function messagePrefix({ length }: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(length, 1);
  return prefix;
}
