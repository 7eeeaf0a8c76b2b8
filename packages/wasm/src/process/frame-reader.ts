import { HEADER_BYTES } from "../protocol/frames.ts";

/** Reads frames from the chunks of a pipe. */
export class FrameReader {
  readonly #maxBytes: number;
  readonly #onFrame: (kind: number, payload: Buffer) => void;
  #chunks: Buffer[] = [];
  #size = 0;
  /** The number of bytes to wait for: the header of a frame, then the whole frame. */
  #wanted = HEADER_BYTES;

  /** @param maxBytes the longest payload */
  constructor(maxBytes: number, onFrame: (kind: number, payload: Buffer) => void) {
    this.#maxBytes = maxBytes;
    this.#onFrame = onFrame;
  }

  /** @throws RangeError if a frame is too long */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= this.#wanted) {
      const bytes = this.#chunks.length === 1 ? (this.#chunks[0] ?? chunk) : Buffer.concat(this.#chunks);
      const length = bytes.readUInt32LE(1);
      if (length > this.#maxBytes) throw new RangeError(`a frame of ${length} bytes is too long`);
      const end = HEADER_BYTES + length;
      const isWhole = bytes.length >= end;
      const rest = isWhole ? bytes.subarray(end) : bytes;
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#size = rest.length;
      this.#wanted = isWhole ? HEADER_BYTES : end;
      if (isWhole) this.#onFrame(bytes.readUInt8(0), bytes.subarray(HEADER_BYTES, end));
    }
  }
}
