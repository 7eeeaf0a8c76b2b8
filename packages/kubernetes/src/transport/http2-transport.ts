import type { ClusterAccess } from "../auth/access.ts";
import { dialTls } from "./dial.ts";
import { httpTransport } from "./http1-transport.ts";
import { openSession, type Session, type SessionOptions } from "./http2-session.ts";
import { type HttpRequest, type HttpResponse, type Transport, TransportError } from "./transport.ts";

// Each takes about 100 requests at a time. Watches stay open, one for each kind: 1,600 kinds are more than clusters have.
const MAX_SESSIONS = 16;

/**
 * One HTTP/2 session is kept, and a further one opened where the server lets no more streams into it. After GOAWAY, an error
 * or a ping without answer the next request connects again. Where the server, or a proxy before it, speaks no HTTP/2, and
 * for plain http, it is HTTP/1.1 with kept connections.
 */
export function openTransport(access: ClusterAccess, options: SessionOptions = {}): Transport {
  if (new URL(access.server).protocol === "http:") return httpTransport(access);
  const { origin } = new URL(access.server);
  const sessions: Session[] = [];
  let dialing: Promise<void> | undefined;
  let http1: Transport | undefined;
  let closed = false;

  const dial = async (): Promise<void> => {
    const socket = await dialTls(access, ["h2", "http/1.1"]);
    if (closed) {
      socket.destroy();
      throw new TransportError("Aborted", "the client was closed");
    }
    if (socket.alpnProtocol !== "h2") {
      socket.destroy();
      http1 = httpTransport(access);
      return;
    }
    const session: Session = openSession(
      origin,
      socket,
      () => {
        const at = sessions.indexOf(session);
        if (at >= 0) sessions.splice(at, 1);
      },
      options,
    );
    sessions.push(session);
    await session.ready;
    if (session.ending) throw new TransportError("NotSent", `${access.server} ended the connection at once`);
  };
  /** What takes one more request now. */
  const free = (): Pick<Transport, "open"> | undefined => {
    if (http1 !== undefined) return http1;
    const session = sessions.find(({ hasRoom }) => hasRoom);
    if (session !== undefined) return session;
    const open = sessions.filter(({ ending }) => !ending);
    // HTTP/2 itself makes streams wait for room.
    return open.length < MAX_SESSIONS ? undefined : open.reduce((a, b) => (b.active < a.active ? b : a));
  };
  return {
    async open(request: HttpRequest): Promise<HttpResponse> {
      for (;;) {
        if (closed) throw new TransportError("Aborted", "the client was closed");
        // Found and taken without a pause between: many wait for the same connection.
        const found = free();
        if (found !== undefined) return found.open(request);
        // Many requests at once make one connection.
        dialing ??= dial().finally(() => {
          dialing = undefined;
        });
        await until(dialing, request);
      }
    },
    renew() {
      for (const session of sessions.slice()) session.drain();
      http1?.renew();
    },
    close() {
      closed = true;
      for (const session of sessions.slice()) session.destroy();
      http1?.close();
    },
  };
}

/** A connection that others wait for as well is not given up with one request. */
async function until<T>(connection: Promise<T>, { signal }: HttpRequest): Promise<T> {
  if (signal === undefined) return connection;
  const aborted = (): TransportError => new TransportError("Aborted", "the request was given up", signal.reason);
  if (signal.aborted) throw aborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(aborted());
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([connection, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
    connection.catch(() => undefined);
  }
}
