import type { Socket } from "node:net";
import { takeSocket } from "@xfn/runner-contract/peer-limits";
import { ExactReader } from "../wire/exact-reader.ts";
import { readRequestHead } from "../wire/plain-call.ts";
import { PlainCall, type PlainCallOptions } from "./plain-call.ts";

/** What the plain calls of a connection require. */
export interface PlainConnectionOptions extends PlainCallOptions {
  /** How long a connection may be without a call, in milliseconds. */
  readonly silenceMs: number;
}

/** A connection of plain calls, which follow one another. */
export class PlainConnection {
  readonly #options: PlainConnectionOptions;
  readonly #socket: Socket;
  readonly #reader = new ExactReader(() => this.close());
  #call: PlainCall | undefined;
  #headTimer: NodeJS.Timeout | undefined;

  /**
   * @param first the bytes that were read from the socket
   * @param onClosed called at the end of the connection
   */
  constructor(socket: Socket, first: Buffer, options: PlainConnectionOptions, onClosed: () => void) {
    this.#options = options;
    this.#socket = readInto(this.#reader, socket);
    this.#socket.on("error", () => this.close());
    this.#socket.once("close", () => {
      clearTimeout(this.#headTimer);
      this.#call?.end();
      onClosed();
    });
    this.#expectCall(options.messageTimeoutMs);
    this.#reader.feed(first);
  }

  get isIdle(): boolean {
    return this.#call === undefined;
  }

  /** Ends its call, too. */
  close(): void {
    this.#socket.destroy();
  }

  #expectCall(timeoutMs: number): void {
    this.#call = undefined;
    this.#headTimer = setTimeout(() => this.close(), timeoutMs);
    readRequestHead(this.#reader, (head) => {
      clearTimeout(this.#headTimer);
      // Not a client of plain calls.
      if (head === undefined) return this.close();
      this.#call = new PlainCall(head, this.#socket, this.#reader, this.#options, () =>
        this.#expectCall(this.#options.silenceMs),
      );
      this.#call.begin();
    });
  }
}

/** Lets a reader have the bytes of a socket. @returns the socket to use from then on */
function readInto(reader: ExactReader, socket: Socket): Socket {
  return takeSocket(socket, reader.onread)?.resume() ?? socket.on("data", (chunk: Buffer) => reader.feed(chunk));
}
