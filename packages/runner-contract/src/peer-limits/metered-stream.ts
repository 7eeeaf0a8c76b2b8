import { Duplex } from "node:stream";
import { FrameMeter } from "./frame-meter.ts";
import type { PeerBudget } from "./peer-budget.ts";
import { PeerLimitError } from "./peer-limit-error.ts";
import { takeSocket } from "./take-socket.ts";

/** A connection that can stop keeping the process running. */
interface Refable {
  ref?(): unknown;
  unref?(): unknown;
}

/**
 * The read buffer of all connections: each read is consumed before the next one. Pages that no read reaches are free.
 */
const MEMORY: Buffer = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * A connection to an HTTP/2 server, for `node:http2`. It ends with a {@link PeerLimitError} before `node:http2` reads
 * bytes that exceed the budget. Given the socket itself, `node:http2` would read in native code. A timer that checks
 * the socket's `bytesRead` runs too late then: a server kept the process busy for 600 ms.
 * That costs small calls: one of 1.5 kB takes about 1.3 times the processor time of native reading. Some 1.2 remain
 * without the meter, because each read and write of `node:http2` then crosses from native code to JavaScript.
 *
 * It has no queues in addition to those of the socket, because they would take as much time as everything else. A chunk
 * is therefore valid only during its event.
 */
export class MeteredStream extends Duplex {
  readonly #socket: Duplex & Refable;
  readonly #budget: PeerBudget;
  readonly #meter: FrameMeter;
  /** Pieces that the library reads in later turns: bytes, and null for the end. */
  readonly #later: (Buffer | null)[] = [];
  #isFlowing = false;
  #socketClosed = false;

  /**
   * @param socket connected, or connecting. It belongs to this stream from now on.
   * @param maxFrameBytes the largest frame that the library asks for
   */
  constructor(socket: Duplex, budget: PeerBudget, maxFrameBytes?: number) {
    super();
    this.#budget = budget;
    this.#meter = new FrameMeter(budget, maxFrameBytes);
    const early = socket.read() as Buffer | null;
    const taken = takeSocket(socket, {
      buffer: MEMORY,
      callback: (bytes) => {
        this.#read(MEMORY.subarray(0, bytes));
        return true;
      },
    });
    this.#socket = taken ?? socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("end", () => this.#deliver([null]));
    this.#socket.on("error", (error) => this.destroy(lostConnection(error)));
    this.#socket.on("close", () => {
      this.#socketClosed = true;
      if (this.#later.length === 0) this.destroy();
    });
    if (early !== null) this.#read(early);
  }

  #read(chunk: Buffer): void {
    const pieces = this.#meter.read(chunk);
    if (pieces === undefined) this.destroy(new PeerLimitError());
    else this.#deliver(pieces);
  }

  /**
   * Gives each piece a turn of its own, also after a pause. Node's client never closes a stream whose end and
   * RST_STREAM it reads in one turn, while a part of the request is unsent.
   */
  #deliver(pieces: readonly (Buffer | null)[]): void {
    const [first = null, ...others] = pieces;
    const isFirst = this.#isFlowing && this.#later.length === 0;
    if (isFirst) this.#pass(first);
    for (const piece of isFirst ? others : pieces) this.#later.push(piece && Buffer.from(piece));
    if (!this.#isFlowing) this.#socket.pause();
    else if (isFirst && others.length > 0) setImmediate(() => this.#deliverLater());
  }

  #deliverLater(): void {
    if (this.destroyed || !this.#isFlowing) return;
    const piece = this.#later.shift();
    if (piece === undefined) return;
    this.#pass(piece);
    if (this.#later.length > 0) setImmediate(() => this.#deliverLater());
    else if (this.#socketClosed) setImmediate(() => this.destroy());
  }

  #pass(piece: Buffer | null): void {
    if (piece === null) this.push(null);
    else this.emit("data", piece);
  }

  override resume(): this {
    super.resume();
    this.#isFlowing = true;
    this.#socket.resume();
    if (this.#later.length > 0) setImmediate(() => this.#deliverLater());
    return this;
  }

  override pause(): this {
    this.#isFlowing = false;
    return super.pause();
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

  override write(bytes: Buffer, ...callback: unknown[]): boolean {
    this.#budget.sent(bytes.length);
    return this.#socket.write(bytes, ...(callback as []));
  }

  override cork(): void {
    this.#socket.cork();
  }

  override uncork(): void {
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

/**
 * Libraries treat a failed write to a connection that the peer has closed as a reset only if the error has that code.
 */
function lostConnection(error: Error & { code?: string }): Error {
  if (error.code !== "EPIPE") return error;
  return Object.assign(new Error(`the connection is closed: ${error.message}`, { cause: error }), {
    code: "ECONNRESET",
  });
}
