/**
 * Bytes that a server of HTTP/2 may send besides the content of its answers: some 4,000 frames at
 * {@link PIECE_BYTES}, or 800 reads at {@link READ_BYTES}. A client needs at most 50 ms for them.
 */
const CAPACITY: number = 1024 * 1024;

/**
 * The same for HTTP/1, whose parsers take longer for each byte. Up to 128 KiB of content are in the socket while its
 * reader pauses.
 */
const HTTP1_CAPACITY: number = (256 + 128) * 1024;

/** What a frame costs at least, in bytes. Reading it costs time, however small it is. */
export const PIECE_BYTES = 256;

/** What a read of a socket costs at least. It passes the kernel, libuv and V8. */
const READ_BYTES = 1280;

/** What a chunk of HTTP/1 costs at least. It takes less time than a frame. */
const CHUNK_BYTES = 64;

/** What a header section costs besides its bytes. Compressed headers can become 64 KiB of strings. */
export const HEADERS_BYTES: number = 32 * 1024;

/** Each call needs headers, trailers and some pieces around them. It has room for two interim responses. */
const CALL_BYTES: number = 4 * HEADERS_BYTES;

/** For slow answers in small pieces, and pings of connections that stay open: 12 reads a second. */
const BYTES_PER_MS = 16;

/** Content of a call that has ended may still be on its way, as much as a receive window has. */
const IN_FLIGHT_BYTES: number = 4 * 1024 * 1024;

/**
 * The overhead of ordinary content: frame headers, chunk sizes, records of TLS, and reads of one packet each, which
 * has some 1,200 bytes in tunnels.
 */
const CONTENT_PER_OVERHEAD = 8;

/** Servers of gRPC answer each frame of 16 KiB with two window updates and a ping. */
const SENT_PER_OVERHEAD = 6;

/**
 * Counts what one connection to a server costs its client. Content that a call asked for is free. Everything else takes
 * from a budget, by its bytes and by the number of its pieces, because both cost memory and processor time. The budget
 * counts no time of its own: pauses of garbage collection and other work would be charged to innocent servers.
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
   * Records that a call begins.
   *
   * @param maxContent bytes that its answer may have
   * @returns records its end
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
   * Takes bytes from the budget.
   *
   * @returns whether it suffices. Otherwise the connection must end.
   */
  spend(bytes: number): boolean {
    const now = this.#now();
    this.#left += (now - this.#at) * BYTES_PER_MS - bytes;
    this.#at = now;
    this.#cap();
    if (this.#left < 0) this.#exceeded = true;
    return !this.#exceeded;
  }

  /** Whether it has not sufficed. */
  get exceeded(): boolean {
    return this.#exceeded;
  }

  /** Records bytes that the client has sent, which the server acknowledges. */
  sent(bytes: number): void {
    this.#left += bytes / SENT_PER_OVERHEAD;
  }

  /** Takes a read of a socket, and `overhead` of its bytes. @returns as {@link spend} */
  spendRead(bytes: number, overhead: number): boolean {
    return this.spend(overhead + Math.max(0, READ_BYTES - bytes));
  }

  /** Returns what {@link spendRead} has taken for a chunk of content, less what it costs. @returns as {@link spend} */
  refundChunk(bytes: number): boolean {
    return this.spend(pieceCost(bytes, CHUNK_BYTES) - bytes - bytes / CONTENT_PER_OVERHEAD);
  }

  /** Counts content. @returns its cost: its bytes beyond what the calls may receive, less its ordinary overhead */
  costOfContent(bytes: number): number {
    const expected = Math.min(bytes, this.#content);
    this.#content -= expected;
    return bytes - expected - expected / CONTENT_PER_OVERHEAD;
  }

  #cap(): void {
    this.#left = Math.min(this.#left, this.#capacity + this.#calls * CALL_BYTES);
  }
}

/** What a piece costs besides its overhead. Pieces of a kilobyte and more are free: their content costs more. */
export function pieceCost(length: number, least: number = PIECE_BYTES): number {
  return Math.max(0, least - length / 4);
}
