import { joinDataFrames, lengthAt, streamAt } from "./join-data-frames.ts";
import { HEADERS_BYTES, type PeerBudget, PIECE_BYTES, pieceCost } from "./peer-budget.ts";

// Frames of HTTP/2 (RFC 9113, sections 4.1 and 6).
const FRAME_HEADER_BYTES = 9;
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PUSH_PROMISE = 5;
const ACK = 1;
const PADDED = 8;

/** The largest frame that a client accepts until the server has acknowledged another size (RFC 9113, section 6.5.2). */
const DEFAULT_FRAME_BYTES = 16_384;

/** A frame has at most 255 bytes of padding, and one byte for their number. */
const MAX_PADDING_BYTES = 256;

/** Counts the frames that a server of HTTP/2 sends, before an HTTP/2 library reads them. */
export class FrameMeter {
  readonly #budget: PeerBudget;
  readonly #header: Buffer = Buffer.alloc(FRAME_HEADER_BYTES);
  /** Bytes of a header that continues in the next chunk. */
  #headerBytes = 0;
  /** Bytes of the frame's payload that have not arrived yet. */
  #left = 0;
  /** Whether the payload is content. */
  #isContent = false;

  /** The largest frame that the library accepts now. */
  #maxFrame = DEFAULT_FRAME_BYTES;
  readonly #askedFrame: number;

  /** @param maxFrameBytes the largest frame that the library asks for (SETTINGS_MAX_FRAME_SIZE) */
  constructor(budget: PeerBudget, maxFrameBytes: number = DEFAULT_FRAME_BYTES) {
    this.#budget = budget;
    this.#askedFrame = maxFrameBytes;
  }

  /**
   * Counts the frames of a chunk, and joins DATA frames in it.
   *
   * @returns the bytes for the library, in pieces that begin with RST_STREAM; undefined if the budget does not suffice
   */
  read(chunk: Buffer): Buffer[] | undefined {
    let cost = 0;
    let isJoinable = false;
    let run = -1;
    let runBytes = 0;
    const maxFrame = this.#maxFrame;
    let first = -1;
    const cuts: number[] = [];
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, chunk.length - at);
        this.#left -= skipped;
        at += skipped;
        cost += this.#isContent ? this.#budget.costOfContent(skipped) : skipped;
        continue;
      }
      let header = chunk;
      let from = at;
      if (first < 0 && this.#headerBytes === 0) first = at;
      if (this.#headerBytes > 0 || chunk.length - at < FRAME_HEADER_BYTES) {
        const copied = chunk.copy(this.#header, this.#headerBytes, at, at + FRAME_HEADER_BYTES - this.#headerBytes);
        this.#headerBytes += copied;
        at += copied;
        if (this.#headerBytes < FRAME_HEADER_BYTES) break;
        this.#headerBytes = 0;
        header = this.#header;
        from = 0;
      } else at += FRAME_HEADER_BYTES;
      const length = lengthAt(header, from);
      const type = header[from + 3] ?? 0;
      const flags = header[from + 4] ?? 0;
      this.#left = length;
      this.#isContent = type === DATA;
      cost += FRAME_HEADER_BYTES;
      if (type !== DATA) {
        if (type === RST_STREAM && header === chunk && from > 0) cuts.push(from);
        // The library accepts such frames in the bytes after the acknowledgement.
        else if (type === SETTINGS && (flags & ACK) !== 0) this.#maxFrame = this.#askedFrame;
        run = -1;
        cost += type === HEADERS || type === PUSH_PROMISE ? HEADERS_BYTES : PIECE_BYTES;
        continue;
      }
      const padding = (flags & PADDED) === 0 ? 0 : Math.min(length, MAX_PADDING_BYTES);
      cost += padding;
      const stream = streamAt(header, from);
      if (stream === run && flags === 0 && runBytes + length <= maxFrame) {
        isJoinable = true;
        runBytes += length;
        continue;
      }
      cost += pieceCost(length - padding);
      run = flags === 0 ? stream : -1;
      runBytes = length;
    }
    if (!this.#budget.spendRead(chunk.length, cost)) return undefined;
    const pieces = cuts.length === 0 ? [chunk] : cutAt(chunk, cuts);
    if (!isJoinable) return pieces;
    return pieces.map((piece, index) => joinDataFrames(piece, index > 0 ? 0 : first, maxFrame));
  }
}

function cutAt(chunk: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts, chunk.length];
  return ends.map((end, index) => chunk.subarray(ends[index - 1] ?? 0, end));
}
