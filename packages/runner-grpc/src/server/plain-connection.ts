import type { Socket } from "node:net";
import { takeSocket } from "@xfn/runner-contract/peer-limits";
import { ExactReader } from "../wire/exact-reader.ts";
import { readRequestHead } from "../wire/plain-call.ts";
import { PlainCall, type PlainCallOptions } from "./plain-call.ts";

/** The requirements of a connection's plain calls. */
export interface PlainConnectionOptions extends PlainCallOptions {
  /** The longest time that a connection may have no call, in milliseconds. */
  readonly silenceMs: number;
}

/** A connection that carries plain calls, one after another. */
export class PlainConnection {
  readonly #options: PlainConnectionOptions;
  readonly #socket: Socket;
  readonly #reader = new ExactReader(() => this.close());
  #call: PlainCall | undefined;
  #headTimer: NodeJS.Timeout | undefined;

  /**
   * @param first the bytes that were already read from the socket
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

  /** Closes the connection and ends its call. */
  close(): void {
    this.#socket.destroy();
  }

  #expectCall(timeoutMs: number): void {
    this.#call = undefined;
    this.#headTimer = setTimeout(() => this.close(), timeoutMs);
    readRequestHead(this.#reader, (head) => {
      clearTimeout(this.#headTimer);
      // The peer does not use plain calls.
      if (head === undefined) return this.close();
      this.#call = new PlainCall(head, this.#socket, this.#reader, this.#options, () =>
        this.#expectCall(this.#options.silenceMs),
      );
      this.#call.begin();
    });
  }
}

/** Gives a reader the bytes of a socket. @returns the socket to use from then on */
function readInto(reader: ExactReader, socket: Socket): Socket {
  return takeSocket(socket, reader.onread)?.resume() ?? socket.on("data", (chunk: Buffer) => reader.feed(chunk));
}
