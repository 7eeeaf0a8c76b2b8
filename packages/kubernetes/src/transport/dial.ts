import { request as httpRequest } from "node:http";
import { isIP, type Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { messageOf } from "@xfn/errors";
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
    const tunnel = access.proxy === undefined ? undefined : await dialProxy(access.proxy, url.hostname, port);
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

/** A hostname of a URL, as `node:net` takes it: IPv6 addresses without brackets. */
export function unbracketed(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** Opens a tunnel through an HTTP proxy (RFC 9110, CONNECT). */
function dialProxy(proxy: string, host: string, port: number): Promise<Socket> {
  const { hostname, port: proxyPort, username, password, protocol } = new URL(proxy);
  if (protocol !== "http:") throw new Error(`the proxy ${proxy} is not supported: use http://HOST:PORT`);
  const headers: Record<string, string> = { host: `${host}:${port}` };
  if (username !== "") {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    headers["proxy-authorization"] = `Basic ${Buffer.from(pair).toString("base64")}`;
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: unbracketed(hostname),
      port: proxyPort === "" ? 80 : Number(proxyPort),
      method: "CONNECT",
      path: `${host}:${port}`,
      headers,
      timeout: DIAL_TIMEOUT_MS,
    });
    request.once("connect", (response, socket) => {
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new Error(`the proxy ${hostname} answered ${response.statusCode} to CONNECT`));
    });
    request.once("timeout", () => request.destroy(new Error(`the proxy ${hostname} does not answer`)));
    request.once("error", reject);
    request.end();
  });
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
