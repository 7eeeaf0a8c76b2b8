import type { OnReadOpts } from "node:net";

/** A buffer for unexpected bytes. */
const SCRATCH = Buffer.alloc(4096);

/** The largest read of a socket. */
const READ_BYTES = 1024 * 1024;

/**
 * Reads pieces of known lengths, each into its own memory. A socket with {@link onread} reads large pieces directly
 * into that memory. The chunks of an ordinary socket would be copied, and V8 would collect them as garbage.
 */
export class ExactReader {
  /** The option of a socket. */
  readonly onread: OnReadOpts = {
    buffer: () => this.#space(),
    callback: (bytes, memory) => {
      // A socket asks for the memory of its next read after this one, so possibly before the next piece is expected.
      const isNext = memory.byteOffset === this.#piece.byteOffset + this.#filled;
      if (isNext && memory.buffer === this.#piece.buffer && this.#onPiece !== undefined) this.#add(bytes);
      else this.feed(Buffer.from(memory.buffer, memory.byteOffset, bytes));
      return true;
    },
  };
  #piece: Buffer = SCRATCH;
  #filled = 0;
  #onPiece: ((piece: Buffer) => void) | undefined;
  readonly #onExcess: () => void;

  /** @param onExcess called if unexpected bytes arrive */
  constructor(onExcess: () => void) {
    this.#onExcess = onExcess;
  }

  /** Expects a piece. Only its received part takes physical memory. */
  expect(length: number, onPiece: (piece: Buffer) => void): void {
    this.expectInto(Buffer.allocUnsafeSlow(length), onPiece);
  }

  /** Expects a piece that fills this memory. */
  expectInto(memory: Buffer, onPiece: (piece: Buffer) => void): void {
    if (memory.length === 0) return onPiece(memory);
    this.#piece = memory;
    this.#filled = 0;
    this.#onPiece = onPiece;
  }

  /** Drops all further bytes, and the piece that was expected. */
  discard(): void {
    this.#piece = SCRATCH;
    this.#filled = 0;
    this.#onPiece = () => this.discard();
  }

  /** Adds bytes that were not read through {@link onread}. */
  feed(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#onPiece === undefined) return this.#onExcess();
      const copied = bytes.copy(this.#space(), 0, at);
      at += copied;
      this.#add(copied);
    }
  }

  #space(): Buffer {
    return this.#onPiece === undefined ? SCRATCH : this.#piece.subarray(this.#filled, this.#filled + READ_BYTES);
  }

  #add(bytes: number): void {
    this.#filled += bytes;
    if (this.#filled < this.#piece.length) return;
    const [piece, onPiece] = [this.#piece, this.#onPiece];
    this.#onPiece = undefined;
    this.#piece = SCRATCH;
    onPiece?.(piece);
  }
}
