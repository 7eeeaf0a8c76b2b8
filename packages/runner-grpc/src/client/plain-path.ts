import type { Endpoint } from "../setup/endpoint.ts";
import { lengthOf } from "../wire/large-message.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import type { OutgoingCall } from "./answer.ts";
import { type IdleConnections, PlainCall } from "./plain-call.ts";
import type { Connect, PlainConnection } from "./plain-connection.ts";

// A smaller message takes as long over the existing gRPC connection.
const MIN_BYTES = 64 * 1024;

// After a server without plain calls, try again at this interval: it may have been replaced.
const RETRY_MS = 60_000;

// The number of calls that a controller makes at a time.
const MAX_IDLE = 16;

/** Makes calls that are faster without HTTP/2 as plain calls, if the server supports them. */
export class PlainPath {
  readonly #connect: Connect;
  readonly #maxBytes: number;
  readonly #isLocal: boolean;
  readonly #idle = new IdlePlainConnections();
  #notBefore = 0;

  /** @param maxBytes limit of an answer's message */
  constructor({ kind }: Endpoint, connect: Connect, maxBytes: number) {
    this.#isLocal = kind !== "tcp";
    this.#connect = connect;
    this.#maxBytes = maxBytes;
  }

  /** Starts a plain call if it is faster. */
  start(call: OutgoingCall): PlainCall | undefined {
    if (performance.now() < this.#notBefore) return undefined;
    // A function's server answers in a fraction of a millisecond. In a burst, gRPC's client and server take longer than
    // that.
    const isQuick = this.#isLocal && call.path !== RUN_FUNCTION.path;
    if (!isQuick && lengthOf(call.message) < MIN_BYTES) return undefined;
    try {
      return new PlainCall(this.#connect, call, this.#maxBytes, isQuick ? this.#idle : undefined);
    } catch {
      // The certificate files do not match at the moment. gRPC uses the last good ones.
      return undefined;
    }
  }

  /** Records that the server does not support plain calls. */
  unsupported(): void {
    this.#notBefore = performance.now() + RETRY_MS;
  }

  /** Closes the idle connections. */
  close(): void {
    this.#idle.close();
  }
}

class IdlePlainConnections implements IdleConnections {
  readonly #connections: PlainConnection[] = [];
  #closed = false;

  take(onLost: (why: string) => void): PlainConnection | undefined {
    const connection = this.#connections.pop();
    connection?.use(onLost);
    return connection;
  }

  add(connection: PlainConnection): void {
    if (this.#closed || this.#connections.length >= MAX_IDLE) return connection.close();
    connection.release(() => this.#remove(connection));
    this.#connections.push(connection);
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#connections.splice(0)) connection.close();
  }

  #remove(connection: PlainConnection): void {
    const index = this.#connections.indexOf(connection);
    if (index !== -1) this.#connections.splice(index, 1);
  }
}
