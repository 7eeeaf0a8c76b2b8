import type { Socket } from "node:net";
import type { ConnectRequest, ConnectResponse } from "../host/protocol.ts";

/** A connected socket, or the reason for the failure. */
export type Connection =
  | { socket: Socket }
  | { reason: "ended" | "notListening" | "failed"; message?: string | undefined };

/** The connections that were requested from a sandbox host. */
export class HostConnections {
  readonly #pending = new Map<number, (connection: Connection) => void>();
  #count = 0;

  /** @param send sends the request to the sandbox host */
  open(request: Omit<ConnectRequest, "type" | "number">, send: (request: ConnectRequest) => void): Promise<Connection> {
    const number = ++this.#count;
    const { promise, resolve } = Promise.withResolvers<Connection>();
    this.#pending.set(number, resolve);
    send({ type: "connect", number, ...request });
    return promise;
  }

  settle({ number, reason, message }: ConnectResponse, socket: Socket | undefined): void {
    const resolve = this.#pending.get(number);
    this.#pending.delete(number);
    if (resolve === undefined) socket?.destroy();
    else if (socket !== undefined) resolve({ socket });
    else resolve({ reason: reason ?? "failed", message: message ?? "the sandbox host sent no socket" });
  }

  /** Settles all requests, because the sandbox host and its containers have ended. */
  end(): void {
    for (const resolve of this.#pending.values()) resolve({ reason: "ended" });
    this.#pending.clear();
  }
}
