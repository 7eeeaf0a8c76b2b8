import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { TLSSocket } from "node:tls";
import { messageOf } from "./dial.ts";
import { type HttpRequest, type HttpResponse, TransportError } from "./transport.ts";

// HTTP/2's own window of 64 KiB makes a list of some megabytes wait for the network again and again. Go has 4 MiB.
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const SESSION_WINDOW_BYTES = 16 * 1024 * 1024;
// What Node may hold of a session before it refuses new streams; lists of several kinds at once are larger than its 10 MB.
const SESSION_MEMORY_MB = 512;
// A connection that is silent for this long is asked whether it is still there; kubectl asks after 30 s.
const PING_AFTER_MS = 15_000;
// A server that is there answers at once.
const PING_TIMEOUT_MS = 10_000;
// Until the server says how many it takes (kube-apiserver: 100).
const STREAMS_BEFORE_SETTINGS = 100;

export interface SessionOptions {
  readonly pingAfterMs?: number | undefined;
  readonly pingTimeoutMs?: number | undefined;
}

/** One HTTP/2 connection and what is known of it. */
export interface Session {
  /** When the server has said how many streams it takes. It never rejects. */
  readonly ready: Promise<void>;
  /** Streams that run. */
  readonly active: number;
  /** Whether one more stream can be opened now. */
  readonly hasRoom: boolean;
  /** It takes no more streams: the server is going away, or it was told to end. Those that run go on. */
  readonly ending: boolean;
  open(request: HttpRequest): Promise<HttpResponse>;
  /** Ends when the last stream has. */
  drain(): void;
  destroy(): void;
}

/** Speaks HTTP/2 on a connection. `onClose` is called once, when its last stream has ended too. */
export function openSession(
  origin: string,
  socket: TLSSocket,
  onClose: () => void,
  options: SessionOptions = {},
): Session {
  const { pingAfterMs = PING_AFTER_MS, pingTimeoutMs = PING_TIMEOUT_MS } = options;
  const session: ClientHttp2Session = connect(origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    maxSessionMemory: SESSION_MEMORY_MB,
    peerMaxConcurrentStreams: STREAMS_BEFORE_SETTINGS,
  });
  session.once("connect", () => session.setLocalWindowSize(SESSION_WINDOW_BYTES));
  let settled = false;
  const ready = new Promise<void>((resolve) => {
    session.once("remoteSettings", () => {
      settled = true;
      // An idle connection is no reason for a process to go on; until here somebody waits for it.
      if (active === 0) session.unref();
      resolve();
    });
    session.once("close", () => resolve());
  });
  let active = 0;
  let lastTaken = Number.POSITIVE_INFINITY;
  let failure: Error | undefined;
  session.on("goaway", (_code, lastStreamId: number) => {
    // Node closes the session then: it takes no more streams.
    lastTaken = lastStreamId;
  });
  session.on("error", (error) => {
    failure ??= error;
  });
  const isEnding = (): boolean => session.closed || session.destroyed;
  const stopPinging = pingWhenSilent(session, socket, pingAfterMs, pingTimeoutMs);
  session.once("close", () => {
    stopPinging();
    onClose();
  });
  const began = (): void => {
    if (active++ === 0) session.ref();
  };
  const ended = (): void => {
    if (--active === 0) session.unref();
  };
  return {
    ready,
    get active() {
      return active;
    },
    get hasRoom() {
      return (
        settled && !isEnding() && active < (session.remoteSettings.maxConcurrentStreams ?? STREAMS_BEFORE_SETTINGS)
      );
    },
    get ending() {
      return isEnding();
    },
    open: (request) =>
      openStream(session, request, { began, ended, lastTaken: () => lastTaken, failure: () => failure }),
    drain: () => session.close(),
    destroy: () => session.destroy(),
  };
}

interface StreamHooks {
  began(): void;
  ended(): void;
  /** The last stream that the server will answer, once it has said so (RFC 9113, GOAWAY). */
  lastTaken(): number;
  failure(): Error | undefined;
}

function openStream(
  session: ClientHttp2Session,
  { method, path, headers, body, signal, headTimeoutMs }: HttpRequest,
  hooks: StreamHooks,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream;
    try {
      stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === undefined });
    } catch (cause) {
      // Thrown before anything was written: the session had just ended.
      reject(new TransportError("NotSent", messageOf(cause), cause));
      return;
    }
    hooks.began();
    let status = 0;
    let head: Readonly<Record<string, unknown>> = {};
    let why: TransportError | undefined;
    const cancel = (): void => stream.close(constants.NGHTTP2_CANCEL);
    const abort = (): void => {
      why ??= new TransportError("Aborted", "the request was given up", signal?.reason);
      // A body that is being read ends with this error; a head that is waited for, too.
      stream.destroy(why);
    };
    const timer = setTimeout(() => {
      why ??= new TransportError("Timeout", `no answer within ${headTimeoutMs / 1000} s`);
      stream.destroy(why);
    }, headTimeoutMs);
    signal?.addEventListener("abort", abort, { once: true });
    stream.once("response", (fields) => {
      clearTimeout(timer);
      status = fields[":status"] ?? 0;
      head = fields;
      resolve({
        status,
        header(name) {
          const value = head[name];
          return typeof value === "string" ? value : undefined;
        },
        body: stream,
        cancel,
      });
    });
    let error: Error | undefined;
    stream.on("error", (cause: Error) => {
      error = cause;
    });
    stream.once("close", () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      hooks.ended();
      if (status !== 0) return;
      if (why !== undefined) return reject(why);
      const refused =
        stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || stream.id === undefined || stream.id > hooks.lastTaken();
      const cause = hooks.failure() ?? error;
      const text = cause === undefined ? "the connection was closed" : messageOf(cause);
      reject(new TransportError(refused ? "NotSent" : "Lost", text, cause));
    });
    if (body !== undefined) stream.end(body);
    if (signal?.aborted === true) abort();
  });
}

/** Destroys a session whose peer is gone: TCP alone notices that after a quarter of an hour. */
function pingWhenSilent(
  session: ClientHttp2Session,
  socket: TLSSocket,
  pingAfterMs: number,
  pingTimeoutMs: number,
): () => void {
  let read = socket.bytesRead;
  let waiting: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (socket.bytesRead !== read) {
      read = socket.bytesRead;
      return;
    }
    if (waiting !== undefined || session.destroyed) return;
    waiting = setTimeout(() => {
      session.destroy(new Error(`the server has not answered a ping for ${pingTimeoutMs / 1000} s`));
    }, pingTimeoutMs);
    waiting.unref();
    const sent = session.ping(() => {
      clearTimeout(waiting);
      waiting = undefined;
    });
    if (!sent) session.destroy(new Error("the server does not answer pings"));
  }, pingAfterMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    clearTimeout(waiting);
  };
}
