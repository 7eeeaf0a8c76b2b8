import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import type { ClusterAccess } from "../auth/access.ts";
import { dialTls, messageOf } from "./dial.ts";
import { type HttpResponse, type Transport, TransportError } from "./transport.ts";

// Watches hold one each.
const MAX_SOCKETS = 256;

/** HTTP/1.1 with kept connections: for plain http (`kubectl proxy`), and where nothing better is spoken. */
export function httpTransport(access: ClusterAccess): Transport {
  const { protocol, hostname, port } = new URL(access.server);
  const secure = protocol === "https:";
  let agent = secure ? dialingAgent(access) : new HttpAgent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  const send = secure ? httpsRequest : httpRequest;
  let closed = false;
  return {
    open: ({ method, path, headers, body, signal, headTimeoutMs }) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new TransportError("Aborted", "the client was closed"));
        const length = body === undefined ? {} : { "content-length": String(body.length) };
        const request = send({
          host: hostname.replace(/^\[|\]$/g, ""),
          port: port === "" ? undefined : Number(port),
          method,
          path,
          headers: { ...headers, ...length },
          agent,
        } satisfies RequestOptions);
        let why: TransportError | undefined;
        let sent = false;
        const fail = (error: TransportError): void => {
          why ??= error;
          request.destroy(why);
        };
        const abort = (): void => fail(new TransportError("Aborted", "the request was given up", signal?.reason));
        const timer = setTimeout(
          () => fail(new TransportError("Timeout", `no answer within ${headTimeoutMs / 1000} s`)),
          headTimeoutMs,
        );
        signal?.addEventListener("abort", abort, { once: true });
        request.once("socket", (socket) => {
          if (socket.connecting) socket.once("connect", () => (sent = true));
          else sent = true;
        });
        request.once("close", () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
        });
        request.once("response", (response) => {
          clearTimeout(timer);
          resolve({
            status: response.statusCode ?? 0,
            header(name) {
              const value = response.headers[name];
              return typeof value === "string" ? value : undefined;
            },
            body: response,
            cancel: () => response.destroy(),
          } satisfies HttpResponse);
        });
        request.on("error", (cause) => {
          if (why !== undefined) return reject(why);
          if (cause instanceof TransportError) return reject(cause);
          const text = `${access.server} cannot be reached: ${messageOf(cause)}`;
          reject(new TransportError(sent ? "Lost" : "NotSent", text, cause));
        });
        request.end(body);
        if (signal?.aborted === true) abort();
      }),
    renew() {
      const old = agent;
      agent = secure ? dialingAgent(access) : new HttpAgent({ keepAlive: true, maxSockets: MAX_SOCKETS });
      // What runs goes on; what is idle goes.
      for (const sockets of Object.values(old.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    },
    close() {
      closed = true;
      agent.destroy();
    },
  };
}

async function dial(
  access: ClusterAccess,
  done: ((error: Error | null, stream: Duplex) => void) | undefined,
): Promise<void> {
  let socket: Duplex;
  try {
    socket = await dialTls(access, ["http/1.1"]);
  } catch (error) {
    return (done as ((error: Error) => void) | undefined)?.(error as Error);
  }
  done?.(null, socket);
}

/** An agent whose connections are made with the credentials of their time. */
function dialingAgent(access: ClusterAccess): HttpsAgent {
  const agent = new HttpsAgent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  agent.createConnection = (_options, callback) => {
    void dial(access, callback);
    return undefined;
  };
  return agent;
}
