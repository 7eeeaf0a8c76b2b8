import { createServer as createHttpServer } from "node:http";
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { ClusterAccess } from "../src/auth/access.ts";
import { selfSigned } from "./certificate.ts";

/** A request, and the methods that answer it. */
export interface Exchange {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Text; "" for none. */
  readonly body: string;
  readonly response: Http2ServerResponse;
  /** Answers with JSON. */
  json(value: unknown, status?: number, headers?: Record<string, string>): void;
  /** Answers with a Status. */
  status(status: number, reason: string, more?: Record<string, unknown>, headers?: Record<string, string>): void;
  /** The HTTP/2 session; undefined for HTTP/1.1. */
  readonly session: ServerHttp2Session | undefined;
}

export interface FakeServer {
  readonly access: ClusterAccess;
  readonly port: number;
  /** All requests in order: `GET /api/v1`. */
  readonly requests: string[];
  /** The number of HTTP/2 sessions so far, including closed ones. */
  sessions(): number;
  /** Cuts all connections. */
  cut(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export type Handler = (exchange: Exchange) => void | Promise<void>;

const certificate = selfSigned();

/** A server for faults that a real one cannot produce on demand. It answers the discovery of the core group itself. */
export async function fakeApiServer(
  handle: Handler,
  options: {
    protocol?: "h2" | "https" | "http";
    port?: number;
    maxStreams?: number;
    headers?: ClusterAccess["headers"];
    refresh?: ClusterAccess["refresh"];
  } = {},
): Promise<FakeServer> {
  const { protocol = "h2" } = options;
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let sessions = 0;
  const onRequest = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    const { pathname, searchParams } = new URL(request.url, "https://localhost");
    requests.push(`${request.method} ${pathname}`);
    const chunks: Buffer[] = [];
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const json: Exchange["json"] = (value, status = 200, headers = {}) => {
        if (response.writableEnded || response.destroyed) return;
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(value));
      };
      const exchange: Exchange = {
        method: request.method,
        path: pathname,
        query: searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        response,
        json,
        status: (status, reason, more = {}, headers = {}) =>
          json(
            { kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason, message: reason, ...more },
            status,
            headers,
          ),
        session: protocol === "h2" ? (request.stream.session as ServerHttp2Session | undefined) : undefined,
      };
      if (pathname === "/api/v1" && request.method === "GET") json(CORE);
      else void handle(exchange);
    });
  };
  const server =
    protocol === "h2"
      ? createSecureServer(
          { ...certificate, allowHTTP1: false, settings: { maxConcurrentStreams: options.maxStreams ?? 100 } },
          onRequest,
        )
      : protocol === "https"
        ? createHttpsServer(certificate, onRequest as never)
        : createHttpServer(onRequest as never);
  server.on("session", (session: ServerHttp2Session) => {
    sessions++;
    session.on("error", () => undefined);
  });
  server.on(protocol === "http" ? "connection" : "secureConnection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    requests,
    cut,
    sessions: () => sessions,
    access: {
      server: `${protocol === "http" ? "http" : "https"}://127.0.0.1:${port}`,
      tls: async () => ({ ca: certificate.cert }),
      headers: options.headers ?? (() => ({ authorization: "Bearer test" })),
      refresh: options.refresh ?? (async () => false),
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

const CORE = {
  kind: "APIResourceList",
  groupVersion: "v1",
  resources: [
    { name: "configmaps", kind: "ConfigMap", namespaced: true },
    { name: "secrets", kind: "Secret", namespaced: true },
    { name: "namespaces", kind: "Namespace", namespaced: false },
    { name: "namespaces/status", kind: "Namespace", namespaced: false },
  ],
};
