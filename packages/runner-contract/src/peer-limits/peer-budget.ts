/**
 * Bytes that an HTTP/2 server may send in addition to the content of its answers: some 4,000 frames at {@link
 * PIECE_BYTES}, or 800 reads at {@link READ_BYTES}. A client needs at most 50 ms for them.
 */
const CAPACITY: number = 1024 * 1024;

/**
 * The same for HTTP/1, whose parsers take longer for each byte. The socket holds up to 128 KiB of content while its
 * reader pauses.
 */
const HTTP1_CAPACITY: number = (256 + 128) * 1024;

/** The least cost of a frame, in bytes: reading even a small frame takes time. */
export const PIECE_BYTES = 256;

/** The least cost of a socket read, in bytes. A read passes through the kernel, libuv and V8. */
const READ_BYTES = 1280;

/** The least cost of an HTTP/1 chunk, in bytes. A chunk takes less time than a frame. */
const CHUNK_BYTES = 64;

/** The cost of a header section in addition to its bytes. Compressed headers can become 64 KiB of strings. */
export const HEADERS_BYTES: number = 32 * 1024;

/** Each call needs headers, trailers and some pieces around them. This leaves room for two interim responses. */
const CALL_BYTES: number = 4 * HEADERS_BYTES;

/** Allows 12 reads a second, for slow answers in small pieces and for pings of connections that stay open. */
const BYTES_PER_MS = 16;

/** Content of an ended call that can still arrive: as much as a receive window holds. */
const IN_FLIGHT_BYTES: number = 4 * 1024 * 1024;

/**
 * The overhead of ordinary content: frame headers, chunk sizes, TLS records, and reads of one packet each. In tunnels a
 * packet has some 1,200 bytes.
 */
const CONTENT_PER_OVERHEAD = 8;

/** Servers of gRPC answer each frame of 16 KiB with two window updates and a ping. */
const SENT_PER_OVERHEAD = 6;

/**
 * Counts the cost of one connection to a server. Content that a call asked for is free. Everything else is charged to a
 * budget, by bytes and by number of pieces, because both cost memory and processor time. The budget does not measure
 * time itself, because pauses of garbage collection and other work would be charged to innocent servers.
 */
export class PeerBudget {
  readonly #capacity: number;
  readonly #now: () => number;
  #left: number;
  #calls = 0;
  /** Content that the running calls may receive. */
  #content = 0;
  /** The largest content of the running calls. */
  #expected = 0;
  #at: number;
  #exceeded = false;

  /** @param now milliseconds of a monotonic clock */
  constructor(protocol: "http1" | "http2", now: () => number = () => performance.now()) {
    this.#capacity = protocol === "http1" ? HTTP1_CAPACITY : CAPACITY;
    this.#left = this.#capacity;
    this.#now = now;
    this.#at = now();
  }

  /**
   * Records the start of a call.
   *
   * @param maxContent bytes that its answer may have
   * @returns a function that records the end of the call
   */
  begin(maxContent: number): () => void {
    this.#calls++;
    this.#left += CALL_BYTES;
    this.#content += maxContent;
    this.#expected += maxContent;
    let running = true;
    return () => {
      if (!running) return;
      running = false;
      this.#calls--;
      this.#expected -= maxContent;
      this.#content = Math.min(this.#content, this.#expected + IN_FLIGHT_BYTES);
      this.#cap();
    };
  }

  /**
   * Charges bytes to the budget.
   *
   * @returns whether the budget suffices. Otherwise the connection must end.
   */
  spend(bytes: number): boolean {
    const now = this.#now();
    this.#left += (now - this.#at) * BYTES_PER_MS - bytes;
    this.#at = now;
    this.#cap();
    if (this.#left < 0) this.#exceeded = true;
    return !this.#exceeded;
  }

  /** Whether the budget was exceeded. */
  get exceeded(): boolean {
    return this.#exceeded;
  }

  /** Records bytes that the client has sent, which the server acknowledges. */
  sent(bytes: number): void {
    this.#left += bytes / SENT_PER_OVERHEAD;
  }

  /** Charges a read of a socket, and `overhead` of its bytes. @returns as {@link spend} */
  spendRead(bytes: number, overhead: number): boolean {
    return this.spend(overhead + Math.max(0, READ_BYTES - bytes));
  }

  /**
   * Refunds the charge of {@link spendRead} for a chunk of content, less the chunk's cost. @returns as {@link spend}
   */
  refundChunk(bytes: number): boolean {
    return this.spend(pieceCost(bytes, CHUNK_BYTES) - bytes - bytes / CONTENT_PER_OVERHEAD);
  }

  /** Counts content. @returns its cost: the bytes beyond the expected content, less the ordinary overhead */
  costOfContent(bytes: number): number {
    const expected = Math.min(bytes, this.#content);
    this.#content -= expected;
    return bytes - expected - expected / CONTENT_PER_OVERHEAD;
  }

  #cap(): void {
    this.#left = Math.min(this.#left, this.#capacity + this.#calls * CALL_BYTES);
  }
}

/** The cost of a piece in addition to its overhead. Pieces of 1 KiB or more are free: their content costs more. */
export function pieceCost(length: number, least: number = PIECE_BYTES): number {
  return Math.max(0, least - length / 4);
}
