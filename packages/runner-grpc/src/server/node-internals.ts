import type { Socket } from "node:net";

/**
 * Takes the connection out of an accepted socket, to read it with another one: a server of Node has no `onread` for its
 * sockets. Undefined if a release moves it; its bytes are then read in chunks.
 */
export function takeHandle(socket: Socket): object | undefined {
  const internals = socket as { _handle?: object | null };
  const handle = internals._handle ?? undefined;
  if (handle !== undefined) internals._handle = null;
  return handle;
}
