import { type ClientHttp2Session, connect } from "node:http2";
import type { TLSSocket } from "node:tls";
import { openStream, type StreamOwner } from "./http2-stream.ts";
import { PingMonitor } from "./ping-monitor.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";

// With HTTP/2's default window of 64 KiB, a list of some megabytes waits for many round trips. Go's window is 4 MiB.
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const SESSION_WINDOW_BYTES = 16 * 1024 * 1024;
// Node refuses new streams above this memory. Concurrent lists of several kinds exceed its default of 10 MB.
const SESSION_MEMORY_MB = 512;
// kubectl pings a silent connection after 30 s.
const PING_AFTER_MS = 15_000;
// A reachable server answers at once.
const PING_TIMEOUT_MS = 10_000;
// kube-apiserver's default, until its SETTINGS frame arrives.
const STREAMS_BEFORE_SETTINGS = 100;

export interface SessionOptions {
  readonly pingAfterMs?: number | undefined;
  readonly pingTimeoutMs?: number | undefined;
}

/**
 * The life of a session: `connecting` until the server's SETTINGS frame arrives; `open`; `ending` after GOAWAY,
 * `drain`, `destroy` or an error. An ending session accepts no streams, and its running streams continue.
 */
export type SessionState = "connecting" | "open" | "ending";

/** One HTTP/2 connection. */
export class Http2Session implements StreamOwner {
  /** Resolves when the session leaves the state `connecting`. Never rejects. */
  readonly ready: Promise<void>;
  readonly #session: ClientHttp2Session;
  #configured = false;
  #active = 0;
  #lastAnswered = Number.POSITIVE_INFINITY;
  #failure: Error | undefined;

  /** @param onClose called once, after the last stream has ended */
  constructor(
    origin: string,
    socket: TLSSocket,
    onClose: (session: Http2Session) => void,
    { pingAfterMs = PING_AFTER_MS, pingTimeoutMs = PING_TIMEOUT_MS }: SessionOptions = {},
  ) {
    const session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MB,
      peerMaxConcurrentStreams: STREAMS_BEFORE_SETTINGS,
    });
    this.#session = session;
    session.once("connect", () => {
      // Node emits the event of a session that was destroyed meanwhile.
      if (!session.destroyed) session.setLocalWindowSize(SESSION_WINDOW_BYTES);
    });
    this.ready = new Promise<void>((resolve) => {
      session.once("remoteSettings", () => {
        this.#configured = true;
        // An idle connection must not keep the process alive. Until now, a caller was waiting for it.
        if (this.#active === 0) session.unref();
        resolve();
      });
      session.once("close", () => resolve());
    });
    // Node closes the session on GOAWAY, so that it accepts no more streams.
    session.on("goaway", (_code, lastStreamId: number) => {
      this.#lastAnswered = lastStreamId;
    });
    session.on("error", (error) => {
      this.#failure ??= error;
    });
    const pings = new PingMonitor(session, socket, pingAfterMs, pingTimeoutMs);
    session.once("close", () => {
      pings.stop();
      onClose(this);
    });
  }

  get state(): SessionState {
    if (this.#session.closed || this.#session.destroyed) return "ending";
    return this.#configured ? "open" : "connecting";
  }

  /** Running streams. */
  get active(): number {
    return this.#active;
  }

  /** Whether the server accepts one more stream now. */
  get hasRoom(): boolean {
    if (this.state !== "open") return false;
    return this.#active < (this.#session.remoteSettings.maxConcurrentStreams ?? STREAMS_BEFORE_SETTINGS);
  }

  get lastAnswered(): number {
    return this.#lastAnswered;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  open(request: HttpRequest): Promise<HttpResponse> {
    return openStream(this.#session, this, request);
  }

  /** Closes the connection when the last stream has ended. */
  drain(): void {
    this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
  }

  streamOpened(): void {
    if (this.#active++ === 0) this.#session.ref();
  }

  streamClosed(): void {
    if (--this.#active === 0) this.#session.unref();
  }
}
