import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { messageOf } from "@xfn/errors";
import { unbracketed } from "@xfn/proxy";
import type { ClusterAccess } from "../auth/access.ts";
import { dialTls } from "./dial.ts";
import { RequestGuard } from "./request-guard.ts";
import { type HttpRequest, type HttpResponse, httpResponse, type Transport } from "./transport.ts";
import { abortedRequest, closedTransport, TransportError } from "./transport-error.ts";

// A server answers this many requests at once; more of them wait for a free socket.
const MAX_SOCKETS = 256;

/** Watches occupy a socket for minutes. In the agent of other requests they would leave none for these. */
interface Agents {
  readonly requests: HttpAgent;
  readonly watches: HttpAgent;
}

/**
 * HTTP/1.1 with persistent connections: for plain http (`kubectl proxy`), and for servers and proxies without HTTP/2.
 */
export class Http1Transport implements Transport {
  readonly #access: ClusterAccess;
  readonly #secure: boolean;
  readonly #host: string;
  readonly #port: number | undefined;
  #agents: Agents;
  #closed = false;

  constructor(access: ClusterAccess) {
    const { protocol, hostname, port } = new URL(access.server);
    this.#access = access;
    this.#secure = protocol === "https:";
    this.#host = unbracketed(hostname);
    this.#port = port === "" ? undefined : Number(port);
    this.#agents = this.#newAgents();
  }

  open(request: HttpRequest): Promise<HttpResponse> {
    if (this.#closed) return Promise.reject(closedTransport());
    if (request.signal?.aborted === true) return Promise.reject(abortedRequest(request.signal));
    return responseTo(this.#send(request), request, this.#access.server);
  }

  renew(): void {
    const old = this.#agents;
    this.#agents = this.#newAgents();
    // Sockets in use stay until their responses end.
    for (const { freeSockets } of [old.requests, old.watches])
      for (const sockets of Object.values(freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  close(): void {
    this.#closed = true;
    this.#agents.requests.destroy();
    this.#agents.watches.destroy();
  }

  #send({ method, path, headers, body, isLong }: HttpRequest): ClientRequest {
    const length = body === undefined ? {} : { "content-length": String(body.length) };
    return (this.#secure ? httpsRequest : httpRequest)({
      host: this.#host,
      port: this.#port,
      method,
      path,
      headers: { ...headers, ...length },
      agent: isLong === true ? this.#agents.watches : this.#agents.requests,
    } satisfies RequestOptions);
  }

  #newAgents(): Agents {
    return { requests: this.#newAgent(MAX_SOCKETS), watches: this.#newAgent(Number.POSITIVE_INFINITY) };
  }

  #newAgent(maxSockets: number): HttpAgent {
    const options = { keepAlive: true, maxSockets };
    if (!this.#secure) return new HttpAgent(options);
    const agent = new HttpsAgent(options);
    // Dials with the credentials that are current at that time.
    agent.createConnection = (_options, callback) => {
      void dial(this.#access, callback);
      return undefined;
    };
    return agent;
  }
}

/** Ends the request and waits for the head of its response. */
function responseTo(sent: ClientRequest, request: HttpRequest, server: string): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const guard = new RequestGuard(sent, request);
    let connected = false;
    sent.once("socket", (socket) => {
      if (socket.connecting) socket.once("connect", () => (connected = true));
      else connected = true;
    });
    sent.once("close", () => guard.dispose());
    sent.once("response", (response) => {
      guard.headArrived();
      resolve(httpResponse(response.statusCode, response.headers, response, () => response.destroy()));
    });
    sent.on("error", (cause) => {
      if (guard.reason !== undefined) return reject(guard.reason);
      if (cause instanceof TransportError) return reject(cause);
      const text = `${server} cannot be reached: ${messageOf(cause)}`;
      reject(new TransportError(connected ? "Lost" : "NotSent", text, { cause }));
    });
    sent.end(request.body);
  });
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
