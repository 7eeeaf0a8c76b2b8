import { untilAborted } from "@xfn/lifetime";
import type { ClusterAccess } from "../auth/access.ts";
import { dialTls } from "./dial.ts";
import { Http1Transport } from "./http1-transport.ts";
import { Http2Session, type SessionOptions } from "./http2-session.ts";
import type { HttpRequest, HttpResponse, Transport } from "./transport.ts";
import { abortedRequest, closedTransport, TransportError } from "./transport-error.ts";

// A session carries about 100 requests. One watch a kind stays open, and no cluster has 1,600 kinds.
const MAX_SESSIONS = 16;

/**
 * Opens a transport to an API server: HTTP/2, or HTTP/1.1 for plain http and where the server, or a proxy in front of
 * it, does not speak HTTP/2.
 */
export function openTransport(access: ClusterAccess, options: SessionOptions = {}): Transport {
  const { protocol, origin } = new URL(access.server);
  return protocol === "http:" ? new Http1Transport(access) : new Http2Transport(access, origin, options);
}

/**
 * Keeps one HTTP/2 session, and opens further ones where the server accepts no more streams on it. After GOAWAY, an
 * error or an unanswered ping, the next request connects again.
 */
class Http2Transport implements Transport {
  readonly #access: ClusterAccess;
  readonly #origin: string;
  readonly #options: SessionOptions;
  readonly #sessions: Http2Session[] = [];
  #dialing: Promise<void> | undefined;
  /** Set once the server has refused HTTP/2. */
  #http1: Http1Transport | undefined;
  #closed = false;

  constructor(access: ClusterAccess, origin: string, options: SessionOptions) {
    this.#access = access;
    this.#origin = origin;
    this.#options = options;
  }

  async open(request: HttpRequest): Promise<HttpResponse> {
    for (;;) {
      if (this.#closed) throw closedTransport();
      // Find and use the session without awaiting in between: many requests compete for the same one.
      const found = this.#available();
      if (found !== undefined) return found.open(request);
      // Concurrent requests share one dial.
      this.#dialing ??= this.#dial().finally(() => {
        this.#dialing = undefined;
      });
      // The connection continues, because other requests wait for it too.
      await untilAborted(this.#dialing, request.signal, abortedRequest);
    }
  }

  renew(): void {
    for (const session of this.#sessions.slice()) session.drain();
    this.#http1?.renew();
  }

  close(): void {
    this.#closed = true;
    for (const session of this.#sessions.slice()) session.destroy();
    this.#http1?.close();
  }

  /** Returns a connection that accepts one more request now. */
  #available(): Pick<Transport, "open"> | undefined {
    if (this.#http1 !== undefined) return this.#http1;
    const session = this.#sessions.find(({ hasRoom }) => hasRoom);
    if (session !== undefined) return session;
    const open = this.#sessions.filter(({ state }) => state !== "ending");
    // At the limit, HTTP/2 itself queues further streams.
    return open.length < MAX_SESSIONS ? undefined : open.reduce((a, b) => (b.active < a.active ? b : a));
  }

  async #dial(): Promise<void> {
    const socket = await dialTls(this.#access, ["h2", "http/1.1"]);
    if (this.#closed) {
      socket.destroy();
      throw closedTransport();
    }
    if (socket.alpnProtocol !== "h2") {
      socket.destroy();
      this.#http1 = new Http1Transport(this.#access);
      return;
    }
    const session = new Http2Session(this.#origin, socket, (closed) => this.#remove(closed), this.#options);
    this.#sessions.push(session);
    await session.ready;
    if (session.state === "ending") {
      throw new TransportError("NotSent", `${this.#access.server} ended the connection at once`);
    }
  }

  #remove(session: Http2Session): void {
    const at = this.#sessions.indexOf(session);
    if (at >= 0) this.#sessions.splice(at, 1);
  }
}
