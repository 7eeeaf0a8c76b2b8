import { request as httpRequest } from "node:http";
import { isIP, type Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import type { ClusterAccess } from "../auth/access.ts";
import { TransportError } from "./transport.ts";

// A server on the same continent answers a handshake within a second; one that is overloaded may take some.
const DIAL_TIMEOUT_MS = 15_000;
// Between the probes of an idle connection: firewalls forget connections after some minutes.
const KEEP_ALIVE_MS = 30_000;

/** A TLS connection that has shaken hands; what was agreed on is in its `alpnProtocol`. @throws {TransportError} NotSent */
export async function dialTls(access: ClusterAccess, protocols: readonly string[]): Promise<TLSSocket> {
  const url = new URL(access.server);
  const host = url.hostname.replace(/^\[|\]$/g, "");
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
    await connected(socket, "secureConnect");
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  } catch (cause) {
    if (cause instanceof TransportError) throw cause;
    throw new TransportError("NotSent", `${access.server} cannot be reached: ${messageOf(cause)}`, cause);
  }
}

/** A tunnel through an HTTP proxy (RFC 9110, CONNECT). */
function dialProxy(proxy: string, host: string, port: number): Promise<Socket> {
  const { hostname, port: proxyPort, username, password, protocol } = new URL(proxy);
  if (protocol !== "http:") throw new Error(`the proxy ${proxy} is not one of http://`);
  const headers: Record<string, string> = { host: `${host}:${port}` };
  if (username !== "") {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    headers["proxy-authorization"] = `Basic ${Buffer.from(pair).toString("base64")}`;
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: hostname.replace(/^\[|\]$/g, ""),
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

function connected(socket: TLSSocket, event: "secureConnect"): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.destroy(new Error(`no connection within ${DIAL_TIMEOUT_MS / 1000} s`));
    }, DIAL_TIMEOUT_MS);
    const failed = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const closed = (): void => failed(new Error("the connection was closed during the handshake"));
    socket.once("error", failed);
    socket.once("close", closed);
    socket.once(event, () => {
      clearTimeout(timer);
      socket.off("error", failed);
      socket.off("close", closed);
      resolve();
    });
  });
}

/** An error's text; a connection to a name with several addresses fails with several errors and no text of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
