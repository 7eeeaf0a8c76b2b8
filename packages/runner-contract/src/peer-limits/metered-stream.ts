import { Duplex } from "node:stream";
import { FrameMeter } from "./frame-meter.ts";
import type { PeerBudget } from "./peer-budget.ts";
import { PeerLimitError } from "./peer-limit-error.ts";

/** A connection that can stop keeping the process running. */
interface Refable {
  ref?(): unknown;
  unref?(): unknown;
}

/**
 * A connection to a server of HTTP/2. It ends with a {@link PeerLimitError} before a library reads what exceeds the
 * budget. A library that had the socket itself would read it in native code, where nothing counts.
 */
export class MeteredStream extends Duplex {
  readonly #socket: Duplex & Refable;
  readonly #budget: PeerBudget;
  /** What the library reads in later turns: bytes, and null for the end. */
  readonly #later: (Buffer | null)[] = [];
  #socketClosed = false;

  /** @param socket connected, or connecting. It belongs to this stream from now on. */
  constructor(socket: Duplex, budget: PeerBudget) {
    super();
    this.#socket = socket;
    this.#budget = budget;
    const meter = new FrameMeter(budget);
    socket.on("data", (chunk: Buffer) => {
      const pieces = meter.read(chunk);
      if (pieces === undefined) this.destroy(new PeerLimitError());
      else this.#deliver(pieces);
    });
    socket.on("end", () => this.#deliver([null]));
    socket.on("error", (error) => this.destroy(lostConnection(error)));
    socket.on("close", () => {
      this.#socketClosed = true;
      if (this.#later.length === 0) this.destroy();
    });
  }

  /**
   * Gives each piece a turn of its own, also after a pause. Node's client never closes a stream whose end and
   * RST_STREAM it reads in one turn, while a part of the request is unsent.
   */
  #deliver(pieces: readonly (Buffer | null)[]): void {
    const isFirst = this.#later.length === 0;
    this.#later.push(...pieces);
    if (this.readableFlowing !== true) this.#socket.pause();
    else if (isFirst) this.#deliverNext();
  }

  #deliverNext(): void {
    if (this.destroyed || this.readableFlowing !== true) return;
    const piece = this.#later.shift();
    if (piece === undefined) return;
    this.push(piece);
    if (this.#later.length > 0) setImmediate(() => this.#deliverNext());
    else if (this.#socketClosed) setImmediate(() => this.destroy());
  }

  override resume(): this {
    super.resume();
    this.#socket.resume();
    if (this.#later.length > 0) setImmediate(() => this.#deliverNext());
    return this;
  }

  /** Keeps the process running. */
  ref(): void {
    this.#socket.ref?.();
  }

  /** No longer keeps the process running. */
  unref(): void {
    this.#socket.unref?.();
  }

  // The socket is read until a read finds this stream paused.
  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#budget.sent(chunk.length);
    this.#socket.write(chunk, (error) => done(error && lostConnection(error)));
  }

  // A library writes each frame in two pieces. Copying them takes less time than writing each.
  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    const bytes = Buffer.concat(chunks.map(({ chunk }) => chunk));
    this.#budget.sent(bytes.length);
    this.#socket.write(bytes, (error) => done(error && lostConnection(error)));
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

/** Libraries take a write to a connection that the peer has closed for a reset only if it has that code. */
function lostConnection(error: Error & { code?: string }): Error {
  if (error.code !== "EPIPE") return error;
  return Object.assign(new Error(`the connection is closed: ${error.message}`, { cause: error }), {
    code: "ECONNRESET",
  });
}
