import { joinDataFrames, lengthAt, MAX_JOINED_BYTES, streamAt } from "./join-data-frames.ts";
import { HEADERS_BYTES, type PeerBudget, PIECE_BYTES, pieceCost } from "./peer-budget.ts";

// Frames of HTTP/2 (RFC 9113, sections 4.1 and 6).
const FRAME_HEADER_BYTES = 9;
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const PUSH_PROMISE = 5;
const PADDED = 8;

/** A frame has at most 255 bytes of padding, and their number. */
const MAX_PADDING_BYTES = 256;

/** Joining fewer frames takes longer than reading them. */
const MIN_JOINED = 16;

/** Counts the frames that a server of HTTP/2 sends, before an HTTP/2 library reads them. */
export class FrameMeter {
  readonly #budget: PeerBudget;
  readonly #header: Buffer = Buffer.alloc(FRAME_HEADER_BYTES);
  /** Bytes of a header that ends in the next chunk. */
  #headerBytes = 0;
  /** Bytes of the frame's payload that are still to come. */
  #left = 0;
  /** Whether the payload is content. */
  #isContent = false;

  constructor(budget: PeerBudget) {
    this.#budget = budget;
  }

  /**
   * Counts the frames of a chunk.
   *
   * @returns the bytes for the library, in which small DATA frames are joined, in pieces that begin with RST_STREAM;
   *   undefined if the budget does not suffice
   */
  read(chunk: Buffer): Buffer[] | undefined {
    let cost = 0;
    let joinable = 0;
    let run = -1;
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
        run = -1;
        cost += type === HEADERS || type === PUSH_PROMISE ? HEADERS_BYTES : PIECE_BYTES;
        continue;
      }
      const padding = (flags & PADDED) === 0 ? 0 : Math.min(length, MAX_PADDING_BYTES);
      cost += padding;
      const stream = streamAt(header, from);
      if (stream === run && flags === 0 && length <= MAX_JOINED_BYTES) joinable++;
      else cost += pieceCost(length - padding);
      run = flags === 0 && length <= MAX_JOINED_BYTES ? stream : -1;
    }
    if (!this.#budget.spendRead(chunk.length, cost)) return undefined;
    const pieces = cuts.length === 0 ? [chunk] : cutAt(chunk, cuts);
    return joinable < MIN_JOINED ? pieces : pieces.map((piece, index) => joinDataFrames(piece, index > 0 ? 0 : first));
  }
}

function cutAt(chunk: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts, chunk.length];
  return ends.map((end, index) => chunk.subarray(ends[index - 1] ?? 0, end));
}
