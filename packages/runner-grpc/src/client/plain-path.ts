import { lengthOf } from "../wire/large-message.ts";
import type { OutgoingCall } from "./answer.ts";
import { type Connect, PlainCall } from "./plain-call.ts";

// A smaller message takes as long by gRPC, on the connection that is there.
const MIN_BYTES = 64 * 1024;

// After a server without plain calls, try again at this interval: it may have been replaced.
const RETRY_MS = 60_000;

/** Sends calls with large messages as plain calls, to servers that serve them. */
export class PlainPath {
  readonly #connect: Connect;
  readonly #maxBytes: number;
  #notBefore = 0;

  /** @param maxBytes of an answer's message */
  constructor(connect: Connect, maxBytes: number) {
    this.#connect = connect;
    this.#maxBytes = maxBytes;
  }

  /** Starts a call if it is worth it. */
  start(call: OutgoingCall): PlainCall | undefined {
    if (lengthOf(call.message) < MIN_BYTES || performance.now() < this.#notBefore) return undefined;
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
