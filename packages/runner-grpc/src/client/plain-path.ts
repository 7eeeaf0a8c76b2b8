import type { Endpoint } from "../setup/endpoint.ts";
import { lengthOf } from "../wire/large-message.ts";
import { RUN_FUNCTION } from "../wire/service-definition.ts";
import type { OutgoingCall } from "./answer.ts";
import { type Connect, PlainCall } from "./plain-call.ts";

// A smaller message takes as long by gRPC, on the connection that is there.
const MIN_BYTES = 64 * 1024;

// The server of a function answers in a fraction of a millisecond. In a burst, gRPC's client and server take longer
// than that. A new connection of a local socket takes half as long as they do.
const MIN_LOCAL_FUNCTION_BYTES = 0;

// After a server without plain calls, try again at this interval: it may have been replaced.
const RETRY_MS = 60_000;

/** Makes the calls that are faster without HTTP/2 as plain calls, to servers that serve them. */
export class PlainPath {
  readonly #connect: Connect;
  readonly #maxBytes: number;
  readonly #isLocal: boolean;
  #notBefore = 0;

  /** @param maxBytes of an answer's message */
  constructor({ kind }: Endpoint, connect: Connect, maxBytes: number) {
    this.#isLocal = kind !== "tcp";
    this.#connect = connect;
    this.#maxBytes = maxBytes;
  }

  /** Starts a call if it is worth it. */
  start(call: OutgoingCall): PlainCall | undefined {
    const isFunction = call.path !== RUN_FUNCTION.path;
    const minBytes = this.#isLocal && isFunction ? MIN_LOCAL_FUNCTION_BYTES : MIN_BYTES;
    if (lengthOf(call.message) < minBytes || performance.now() < this.#notBefore) return undefined;
    try {
      return new PlainCall(this.#connect, call, this.#maxBytes);
    } catch {
      // Certificate files that do not match at the moment, for which gRPC keeps the last good ones.
      return undefined;
    }
  }

  /** Records that no server of plain calls has answered. */
  unsupported(): void {
    this.#notBefore = performance.now() + RETRY_MS;
  }
}
