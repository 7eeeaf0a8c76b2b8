import { isIP } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { messageOf } from "@xfn/errors";
import { openTunnel, unbracketed } from "@xfn/proxy";
import type { ClusterAccess } from "../auth/access.ts";
import { TransportError } from "./transport-error.ts";

// A server on the same continent completes a handshake within a second, an overloaded one within a few.
const DIAL_TIMEOUT_MS = 15_000;
// Firewalls drop the state of idle connections after some minutes.
const KEEP_ALIVE_MS = 30_000;

/**
 * Opens a TLS connection and completes its handshake. The socket's `alpnProtocol` is the negotiated protocol.
 *
 * @throws {TransportError} NotSent
 */
export async function dialTls(access: ClusterAccess, protocols: readonly string[]): Promise<TLSSocket> {
  const url = new URL(access.server);
  const host = unbracketed(url.hostname);
  const port = url.port === "" ? 443 : Number(url.port);
  try {
    const { ca, cert, key, serverName, insecureSkipVerify } = await access.tls();
    const { proxy } = access;
    const tunnel = proxy === undefined ? undefined : await openTunnel(proxy, url.hostname, port, DIAL_TIMEOUT_MS);
    const name = serverName ?? (isIP(host) === 0 ? host : undefined);
    const socket = tlsConnect({
      host,
      port,
      ...(tunnel === undefined ? {} : { socket: tunnel }),
      ALPNProtocols: [...protocols],
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(name === undefined ? {} : { servername: name }),
      rejectUnauthorized: insecureSkipVerify !== true,
    });
    await handshake(socket);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  } catch (cause) {
    if (cause instanceof TransportError) throw cause;
    throw new TransportError("NotSent", `${access.server} cannot be reached: ${messageOf(cause)}`, { cause });
  }
}

function handshake(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy(new Error(`no connection within ${DIAL_TIMEOUT_MS / 1000} s`));
    }, DIAL_TIMEOUT_MS);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const onClose = (): void => fail(new Error("the connection was closed during the handshake"));
    socket.once("error", fail);
    socket.once("close", onClose);
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      socket.off("close", onClose);
      resolve();
    });
  });
}
