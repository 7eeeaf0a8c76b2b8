import { type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";

/**
 * Takes the connection out of a socket, so that reads go to the caller's memory: only a new socket can have an
 * `onread`.
 *
 * @returns the socket to use from then on. Undefined for a stream that is not a connection or is not connected yet, and
 *   if a release of Node moves the connection. TLS decrypts into its own chunks anyway.
 */
export function takeSocket(socket: Duplex, onread: OnReadOpts): Socket | undefined {
  if (!(socket instanceof Socket) || socket instanceof TLSSocket || socket.connecting) return undefined;
  const internals = socket as { _handle?: object | null };
  const handle = internals._handle ?? undefined;
  if (handle === undefined) return undefined;
  internals._handle = null;
  const taken = new Socket({ handle, onread } as SocketConstructorOpts);
  // Its other users wait for the end, and a listener counts its sockets.
  taken.once("close", () => socket.destroy());
  return taken;
}
