import {
  createSecureServer,
  createServer,
  type Http2Server,
  type Http2Session,
  type SecureServerOptions,
  type ServerHttp2Stream,
  type ServerOptions,
  type Settings,
} from "node:http2";
import { ServedCall, type UnaryMethod } from "./served-call.ts";

/** Options of {@link UnaryServer}. */
export interface UnaryServerOptions {
  /** The methods by path: `/package.Service/Method`. */
  readonly methods: ReadonlyMap<string, UnaryMethod>;
  readonly maxMessageBytes: number;
  /** PEM texts. The server accepts only clients whose certificate `ca` has signed. Undefined: no TLS. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string } | undefined;
  /** Called for errors outside calls, such as a failed TLS handshake. */
  readonly onError?: (message: string) => void;
}

/** Bytes that a client may send before the server has read them. HTTP/2's default of 64 KiB costs round trips. */
const RECEIVE_WINDOW_BYTES = 4 * 1024 * 1024;
/** HTTP/2's default. https://www.rfc-editor.org/rfc/rfc9113#name-defined-settings */
const DEFAULT_WINDOW_BYTES = 65_535;
/** Concurrent calls on one connection. Their messages add up. */
const MAX_STREAMS = 100;
/** Node's default of 10 MB refuses streams while large messages wait. */
const MAX_SESSION_MB = 1024;

const HTTP2: ServerOptions = {
  settings: { maxConcurrentStreams: MAX_STREAMS },
  maxSessionMemory: MAX_SESSION_MB,
};

/** A gRPC server for unary calls over HTTP/2. */
export class UnaryServer {
  readonly #server: Http2Server;
  readonly #sessions: Set<Http2Session> = new Set();

  constructor(options: UnaryServerOptions) {
    const { methods, maxMessageBytes, tls, onError = () => undefined } = options;
    this.#server = tls === undefined ? createServer(HTTP2) : createSecureServer(secure(tls));
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.once("remoteSettings", (settings: Settings) => enlargeWindow(session, settings));
      session.on("close", () => this.#sessions.delete(session));
    });
    this.#server.on("stream", (stream: ServerHttp2Stream, headers) => {
      new ServedCall(stream, { maxMessageBytes, method: methods.get(String(headers[":path"])) }).begin(headers);
    });
    const report = (error: Error): void => onError(error.message);
    this.#server.on("sessionError", report);
    this.#server.on("tlsClientError", report);
  }

  /** Begins to listen, and returns the address. */
  async listen(on: { path: string } | { host?: string | undefined; port: number }): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(on, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    const address = this.#server.address();
    if (typeof address === "string" || address === null) return `unix:${address}`;
    return address.family === "IPv6" ? `[${address.address}]:${address.port}` : `${address.address}:${address.port}`;
  }

  /** Stops accepting calls. Resolves when the calls in progress have ended, or after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    const timer = setTimeout(() => {
      for (const session of this.#sessions) session.destroy();
    }, graceMs);
    await closed;
    clearTimeout(timer);
  }
}

// Node does not read from a connection while its own write waits for the peer. If both peers are Node and may write
// more than the sockets hold, both can wait for ever. Responses to a client with a small window fit.
function enlargeWindow(session: Http2Session, { initialWindowSize = DEFAULT_WINDOW_BYTES }: Settings): void {
  if (initialWindowSize > DEFAULT_WINDOW_BYTES || session.destroyed) return;
  session.settings({ maxConcurrentStreams: MAX_STREAMS, initialWindowSize: RECEIVE_WINDOW_BYTES });
  session.setLocalWindowSize(RECEIVE_WINDOW_BYTES);
}

function secure({ cert, key, ca }: NonNullable<UnaryServerOptions["tls"]>): SecureServerOptions {
  return { ...HTTP2, cert, key, ca, requestCert: true, rejectUnauthorized: true, allowHTTP1: false };
}
