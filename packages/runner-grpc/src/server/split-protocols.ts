import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { PLAIN_BYTES } from "../wire/plain-call.ts";

/** Accepts a connection that begins with a plain call. `first` holds the bytes that were read from it. */
type AcceptPlain = (socket: Socket, first: Buffer) => void;

/**
 * Serves two protocols on the connections of one listener. A plain call is recognised by its first bytes, or by TLS
 * without a protocol's name. Every other connection uses HTTP/2.
 *
 * @param silenceMs the longest time that a connection may stay silent, in milliseconds
 */
export function splitProtocols(server: Http2Server, accept: AcceptPlain, silenceMs: number): SilentSockets {
  const silent = new SilentSockets(silenceMs);
  if (server instanceof TlsServer) {
    server.on("unknownProtocol", (socket: Socket) => accept(socket, Buffer.alloc(0)));
    return silent;
  }
  const http2 = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    silent.watch(socket, (first) => {
      if (first.subarray(0, PLAIN_BYTES.length).equals(PLAIN_BYTES)) return accept(socket, first);
      socket.unshift(first);
      for (const listener of http2) listener.call(server, socket);
    });
  });
  return silent;
}

/** Connections that have not sent a byte yet. */
export class SilentSockets {
  readonly #sockets = new Set<Socket>();
  readonly #silenceMs: number;

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs;
  }

  /** Calls back with the first bytes of a connection. */
  watch(socket: Socket, onBytes: (first: Buffer) => void): void {
    this.#sockets.add(socket);
    const timer = setTimeout(() => socket.destroy(), this.#silenceMs);
    const destroy = (): void => void socket.destroy();
    let first: Buffer = Buffer.alloc(0);
    const read = (): void => {
      // A closed connection emits its end only after all its bytes were read.
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      first = Buffer.concat([first, chunk]);
      if (first.length < PLAIN_BYTES.length) return;
      forget();
      socket.off("error", destroy).off("readable", read).off("end", destroy).off("close", forget);
      onBytes(first);
    };
    const forget = (): void => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    };
    socket.on("error", destroy).on("readable", read).on("end", destroy).on("close", forget);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
