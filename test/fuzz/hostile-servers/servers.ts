// Hostile servers in a process of their own, so that their work is not counted as that of their clients. Sends
// {@link Ports} to its parent, and the bytes that each server could send.
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { TEST_CERTIFICATE, TEST_KEY } from "../../../packages/oci-rootfs/testing/certificate.ts";
import { HTTP1_KINDS } from "./http1-kinds.ts";
import { frame, HEADERS_TYPE, HTTP2_KINDS } from "./http2-kinds.ts";
import type { Kind } from "./kinds.ts";
import { PLAIN_KINDS } from "./plain-kinds.ts";

/** Ports of the servers: hostile ones by kind, and good ones. */
export interface Ports {
  readonly http2: Readonly<Record<string, number>>;
  readonly http1: Readonly<Record<string, number>>;
  readonly https: Readonly<Record<string, number>>;
  readonly plain: Readonly<Record<string, number>>;
  readonly good: { readonly http2: number; readonly https: number };
}

const PREFACE_BYTES = 24;
const SETTINGS = frame(4, 0, 0);
const TLS = { cert: TEST_CERTIFICATE, key: TEST_KEY };

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** Sends what a kind sends, as fast as the client reads. */
function attack(socket: Socket, { first, flood, isDrip = false }: Kind): void {
  if (first !== undefined) socket.write(first);
  if (flood === undefined) return;
  const more = (): void => {
    if (socket.destroyed) return;
    if (!socket.write(flood)) socket.once("drain", more);
    else if (isDrip) setImmediate(more);
    else more();
  };
  more();
}

function hostile(kind: Kind, begins: (seen: Buffer) => boolean): (socket: Socket) => void {
  return (socket) => {
    let seen = Buffer.alloc(0);
    socket.setNoDelay();
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      if (begins(seen)) return;
      seen = Buffer.concat([seen, chunk]);
      if (begins(seen)) attack(socket, kind);
    });
  };
}

/** Whether a client of HTTP/2 has sent the headers of a request. */
function hasHeaders(bytes: Buffer): boolean {
  for (let at = PREFACE_BYTES; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    if (bytes[at + 3] === HEADERS_TYPE) return true;
  return false;
}

async function all(
  kinds: Readonly<Record<string, Kind>>,
  serve: (kind: Kind) => Server,
): Promise<Record<string, number>> {
  const ports: Record<string, number> = {};
  for (const [name, kind] of Object.entries(kinds)) ports[name] = await listen(serve(kind));
  return ports;
}

const isHttp1 = (seen: Buffer): boolean => seen.includes("\r\n\r\n");
const isPlain = (seen: Buffer): boolean => seen.length > 12;
const ports: Ports = {
  http2: await all(HTTP2_KINDS, (kind) =>
    createServer((socket) => {
      socket.write(SETTINGS);
      hostile(kind, hasHeaders)(socket);
    }),
  ),
  http1: await all(HTTP1_KINDS, (kind) => createServer(hostile(kind, isHttp1))),
  https: await all(HTTP1_KINDS, (kind) => createTlsServer(TLS, hostile(kind, isHttp1))),
  plain: await all(PLAIN_KINDS, (kind) => createServer(hostile(kind, isPlain))),
  good: { http2: await listen(goodHttp2()), https: await listen(goodHttps()) },
};
process.once("disconnect", () => process.exit());
process.send?.(ports);

function goodHttp2(): Server {
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    stream.resume();
    stream.on("end", () => {
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.alloc(5));
    });
  });
  return server;
}

function goodHttps(): Server {
  return createHttpsServer(TLS, (request, response) => {
    request.resume();
    request.on("end", () => response.setHeader("content-type", "application/json").end('{"tags":["v1"]}'));
  });
}
