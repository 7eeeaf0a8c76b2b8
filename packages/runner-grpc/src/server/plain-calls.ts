import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";
import { takeSocket } from "@xfn/runner-contract/peer-limits";
import { ExactReader } from "../wire/exact-reader.ts";
import { readRequestHead } from "../wire/plain-call.ts";
import { PlainCall, type PlainCallOptions } from "./plain-call.ts";
import { type SilentSockets, splitProtocols } from "./split-protocols.ts";

/** Serves plain calls, one on a connection, on connections that a listener of gRPC has accepted. */
export class PlainCalls {
  readonly #options: PlainCallOptions;
  readonly #silenceMs: number;
  /** The calls of the open connections. A connection has none before its head has arrived. */
  readonly #calls = new Map<Socket, PlainCall | undefined>();
  readonly #silent: SilentSockets[] = [];

  /** @param silenceMs the longest time that a connection may stay silent, in milliseconds */
  constructor(options: PlainCallOptions, silenceMs: number) {
    this.#options = options;
    this.#silenceMs = silenceMs;
  }

  /** Takes the connections of a gRPC listener that begin with a plain call. */
  listen(server: Http2Server): void {
    this.#silent.push(splitProtocols(server, (...begun) => this.#accept(...begun), this.#silenceMs));
  }

  /** Closes connections without a call. */
  closeIdle(): void {
    for (const silent of this.#silent) silent.close();
    for (const [socket, call] of this.#calls) if (call === undefined) socket.destroy();
  }

  close(): void {
    this.closeIdle();
    for (const socket of this.#calls.keys()) socket.destroy();
  }

  #accept(accepted: Socket, first: Buffer): void {
    const close = (): void => void socket.destroy();
    const reader = new ExactReader(close);
    const socket = readInto(reader, accepted);
    const headTimer = setTimeout(close, this.#options.messageTimeoutMs);
    this.#calls.set(socket, undefined);
    socket.on("error", close);
    socket.once("close", () => {
      clearTimeout(headTimer);
      this.#calls.get(socket)?.end();
      this.#calls.delete(socket);
    });
    readRequestHead(reader, (head) => {
      clearTimeout(headTimer);
      // The peer does not use plain calls.
      if (head === undefined) return close();
      const call = new PlainCall(head, socket, reader, this.#options);
      this.#calls.set(socket, call);
      call.begin();
    });
    reader.feed(first);
  }
}

/** Gives a reader the bytes of a socket. @returns the socket to use from then on */
function readInto(reader: ExactReader, socket: Socket): Socket {
  return takeSocket(socket, reader.onread)?.resume() ?? socket.on("data", (chunk: Buffer) => reader.feed(chunk));
}
