import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { unbracketed } from "./unbracketed.ts";

/**
 * Opens a tunnel through an HTTP proxy (RFC 9110, CONNECT).
 *
 * @param proxy its URL, `http://[USER:PASSWORD@]HOST[:PORT]`
 * @param timeoutMs how long the proxy may send nothing, in milliseconds
 * @throws Error with the proxy's host, and without its password
 */
export function openTunnel(proxy: string, host: string, port: number, timeoutMs: number): Promise<Socket> {
  const { hostname, port: proxyPort, username, password, protocol, host: shown } = new URL(proxy);
  if (protocol !== "http:")
    return Promise.reject(new Error(`the proxy ${protocol}//${shown} is not supported: use http://HOST:PORT`));
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
      timeout: timeoutMs,
    });
    request.once("connect", (response, socket) => {
      // The timeout is for the proxy's answer.
      socket.setTimeout(0);
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new Error(`the proxy ${shown} answered ${response.statusCode} to CONNECT ${host}:${port}`));
    });
    request.once("timeout", () => request.destroy(new Error(`the proxy ${shown} does not answer`)));
    request.once("error", (error) => reject(new Error(`the proxy ${shown}: ${error.message}`, { cause: error })));
    request.end();
  });
}
