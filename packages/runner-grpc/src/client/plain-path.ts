import { lengthOf } from "../wire/large-message.ts";
import type { OutgoingCall } from "./answer.ts";
import { PlainCall } from "./plain-call.ts";
import type { Connect } from "./plain-connection.ts";

// A smaller message takes as long over the existing gRPC connection.
const MIN_BYTES = 64 * 1024;

// After a server without plain calls, try again at this interval: it may have been replaced.
const RETRY_MS = 60_000;

/** Makes calls with large messages as plain calls, if the server supports them. */
export class PlainPath {
  readonly #connect: Connect;
  readonly #maxBytes: number;
  #notBefore = 0;

  /** @param maxBytes limit of an answer's message */
  constructor(connect: Connect, maxBytes: number) {
    this.#connect = connect;
    this.#maxBytes = maxBytes;
  }

  /** Starts a plain call if its message is large. */
  start(call: OutgoingCall): PlainCall | undefined {
    if (performance.now() < this.#notBefore || lengthOf(call.message) < MIN_BYTES) return undefined;
    try {
      return new PlainCall(this.#connect, call, this.#maxBytes);
    } catch {
      // The certificate files do not match at the moment. gRPC uses the last good ones.
      return undefined;
    }
  }

  /** Records that the server does not support plain calls. */
  unsupported(): void {
    this.#notBefore = performance.now() + RETRY_MS;
  }
}
