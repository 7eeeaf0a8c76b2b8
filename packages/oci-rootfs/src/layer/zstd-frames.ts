import { unsafe } from "./entry-path.ts";

/** RFC 8878, section 3.1.1: the first bytes of a frame. */
const ZSTD_MAGIC = 0xfd2fb528;
const MAGIC_BYTES = 4;
/** Bytes of a skippable frame's magic number and size. */
const SKIPPABLE_HEADER_BYTES = 8;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;
const RLE_BLOCK = 1;
const RESERVED_BLOCK = 3;
/** Magic number, descriptor, window, dictionary id and content size: a frame's header has at most so many bytes. */
const MAX_HEADER_BYTES = 18;

/** A frame of one empty raw block. */
const EMPTY_FRAME: Uint8Array = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0]);

/** Bytes of one frame. They never cross its end. */
export interface FramePart {
  readonly bytes: Uint8Array;
  /** Counts the frames from 1. */
  readonly frame: number;
  /** Memory for the frame's window, in bytes; 0 while its header is incomplete. */
  readonly windowBytes: number;
}

/** Whether content starts with a frame, or with a skippable one (RFC 8878, section 3.1.2). */
export function isZstd(magic: number): boolean {
  return magic === ZSTD_MAGIC || isSkippable(magic);
}

function isSkippable(magic: number): boolean {
  return (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
}

/**
 * Finds the frames of a zstd stream, and leaves out the skippable ones. A stream is any number of frames (RFC 8878,
 * section 3.1). node:zlib ends after the first one if a write also has bytes of the next one.
 */
export class ZstdFrames {
  /** The current header, block header or skippable header, as far as it is known. */
  readonly #header: Buffer = Buffer.alloc(MAX_HEADER_BYTES);
  #filled = 0;
  #wanted = MAGIC_BYTES;
  #state: "magic" | "skippable" | "header" | "block" | "content" | "checksum" | "skipped" = "magic";
  /** Remaining bytes of a block, checksum or skippable frame. */
  #left = 0;
  #isLastBlock = false;
  #hasChecksum = false;
  #frame = 0;
  #skippable = 0;
  #windowBytes = 0;

  /** The frames so far, with the skippable ones. */
  get count(): number {
    return this.#frame + this.#skippable;
  }

  /** Splits the next chunk of the stream. @throws ImageError UnsafeLayer for bytes that are not a frame */
  *parts(chunk: Uint8Array): Generator<FramePart, void> {
    // The first byte of the chunk that was not handed out.
    let start = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#state === "content" || this.#state === "checksum" || this.#state === "skipped") {
        const count = Math.min(this.#left, chunk.length - at);
        at += count;
        this.#left -= count;
        if (this.#left > 0) break;
      } else {
        at += this.#hold(chunk, at);
        if (this.#filled < this.#wanted) break;
      }
      const state = this.#state;
      this.#advance();
      if (state === "magic" && this.#state === "header") {
        // An earlier chunk may have had the first bytes, which could have been those of a skippable frame.
        start = at - MAGIC_BYTES;
        if (start < 0) {
          yield this.#part(this.#header.subarray(0, MAGIC_BYTES));
          start = at;
        }
      } else if (this.#state === "magic") {
        if (state !== "skippable" && state !== "skipped") yield this.#part(chunk.subarray(start, at));
        start = at;
      }
    }
    const isOutside = this.#state === "magic" || this.#state === "skippable" || this.#state === "skipped";
    if (!isOutside && start < chunk.length) yield this.#part(chunk.subarray(start));
  }

  /**
   * Ends the stream. Returns an empty frame for a stream without any, because node:zlib requires one.
   *
   * @throws ImageError UnsafeLayer within a frame
   */
  end(): Uint8Array | undefined {
    if (this.#state !== "magic" || this.#filled > 0) throw unsafe("cannot decompress: the last zstd frame is cut off");
    return this.#frame === 0 ? EMPTY_FRAME : undefined;
  }

  #part(bytes: Uint8Array): FramePart {
    return { bytes, frame: this.#frame, windowBytes: this.#windowBytes };
  }

  #hold(chunk: Uint8Array, at: number): number {
    const part = chunk.subarray(at, at + this.#wanted - this.#filled);
    this.#header.set(part, this.#filled);
    this.#filled += part.length;
    return part.length;
  }

  /** Goes on to what follows the complete part. */
  #advance(): void {
    switch (this.#state) {
      case "magic": {
        const magic = this.#header.readUInt32LE(0);
        if (isSkippable(magic)) {
          this.#skippable += 1;
          this.#state = "skippable";
          this.#wanted = SKIPPABLE_HEADER_BYTES;
          return;
        }
        if (magic !== ZSTD_MAGIC) throw unsafe("cannot decompress: what follows a zstd frame is not another one");
        this.#state = "header";
        this.#wanted = MAGIC_BYTES + 1;
        this.#frame += 1;
        this.#windowBytes = 0;
        return;
      }
      case "skippable":
        this.#expect("skipped", this.#header.readUInt32LE(MAGIC_BYTES));
        return;
      case "header": {
        const bytes = headerBytes(this.#header[MAGIC_BYTES] as number);
        if (this.#filled < bytes) {
          this.#wanted = bytes;
          return;
        }
        this.#windowBytes = windowBytes(this.#header);
        this.#hasChecksum = ((this.#header[MAGIC_BYTES] as number) & 4) !== 0;
        this.#next("block", BLOCK_HEADER_BYTES);
        return;
      }
      case "block": {
        const header = this.#header.readUIntLE(0, BLOCK_HEADER_BYTES);
        const type = (header >> 1) & 3;
        if (type === RESERVED_BLOCK) throw unsafe("cannot decompress: a zstd block of a reserved type");
        this.#isLastBlock = (header & 1) === 1;
        this.#expect("content", type === RLE_BLOCK ? 1 : header >> 3);
        return;
      }
      case "content":
        if (!this.#isLastBlock) this.#next("block", BLOCK_HEADER_BYTES);
        else if (this.#hasChecksum) this.#expect("checksum", CHECKSUM_BYTES);
        else this.#next("magic", MAGIC_BYTES);
        return;
      case "checksum":
      case "skipped":
        this.#next("magic", MAGIC_BYTES);
        return;
    }
  }

  #next(state: "magic" | "block", wanted: number): void {
    this.#state = state;
    this.#wanted = wanted;
    this.#filled = 0;
  }

  /** Continues with so many bytes. Without any, what follows them is next at once. */
  #expect(state: "content" | "checksum" | "skipped", bytes: number): void {
    this.#state = state;
    this.#left = bytes;
    this.#filled = 0;
    if (bytes === 0) this.#advance();
  }
}

/** Bytes of a header, by its descriptor (RFC 8878, section 3.1.1.1.1). */
function headerBytes(descriptor: number): number {
  return contentSizeAt(descriptor) + contentSizeBytes(descriptor);
}

function contentSizeAt(descriptor: number): number {
  const window = isSingleSegment(descriptor) ? 0 : 1;
  return MAGIC_BYTES + 1 + window + ([0, 1, 2, 4][descriptor & 3] as number);
}

function contentSizeBytes(descriptor: number): number {
  return [isSingleSegment(descriptor) ? 1 : 0, 2, 4, 8][descriptor >> 6] as number;
}

function isSingleSegment(descriptor: number): boolean {
  return (descriptor & 0x20) !== 0;
}

/** The window of a frame: its descriptor's, or the size of the whole content (RFC 8878, section 3.1.1.1.2). */
function windowBytes(header: Buffer): number {
  const descriptor = header[MAGIC_BYTES] as number;
  if (!isSingleSegment(descriptor)) {
    const window = header[MAGIC_BYTES + 1] as number;
    const base = 2 ** (10 + (window >> 3));
    return base + (base / 8) * (window & 7);
  }
  const at = contentSizeAt(descriptor);
  const bytes = contentSizeBytes(descriptor);
  if (bytes === 8) return Number(header.readBigUInt64LE(at));
  // Two bytes count from 256.
  return header.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}
