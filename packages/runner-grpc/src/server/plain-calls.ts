import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";
import { PlainConnection, type PlainConnectionOptions } from "./plain-connection.ts";
import { type SilentSockets, splitProtocols } from "./split-protocols.ts";

/** Serves plain calls on connections that a listener of gRPC has accepted. */
export class PlainCalls {
  readonly #options: PlainConnectionOptions;
  readonly #connections = new Set<PlainConnection>();
  readonly #silent: SilentSockets[] = [];

  constructor(options: PlainConnectionOptions) {
    this.#options = options;
  }

  /** Takes the connections of a gRPC listener that begin with a plain call. */
  listen(server: Http2Server): void {
    this.#silent.push(splitProtocols(server, (...begun) => this.#accept(...begun), this.#options.silenceMs));
  }

  /** Closes connections without a call. */
  closeIdle(): void {
    for (const silent of this.#silent) silent.close();
    for (const connection of this.#connections) if (connection.isIdle) connection.close();
  }

  close(): void {
    this.closeIdle();
    for (const connection of this.#connections) connection.close();
  }

  #accept(socket: Socket, first: Buffer): void {
    const connection = new PlainConnection(socket, first, this.#options, () => this.#connections.delete(connection));
    this.#connections.add(connection);
  }
}
