import type { ReceivedMessage } from "./received-message.ts";

/** More than a controller calls at a time. Calls whose response was dropped stay until they are the oldest. */
const MAX_CALLS = 1_000;
const MAX_BYTES: number = 256 * 1024 * 1024;

/** The requests without a response. Forgets the oldest ones beyond its bounds. */
export class PendingCalls {
  readonly #requests: Map<string, ReceivedMessage> = new Map();
  #bytes = 0;

  add(request: ReceivedMessage): void {
    this.take(request.meta.spanId);
    this.#requests.set(request.meta.spanId, request);
    this.#bytes += request.bytes;
    for (const [spanId] of this.#requests) {
      if (this.#requests.size <= MAX_CALLS && this.#bytes <= MAX_BYTES) break;
      this.take(spanId);
    }
  }

  /** Removes the request of a call. Undefined if it was not received. */
  take(spanId: string): ReceivedMessage | undefined {
    const request = this.#requests.get(spanId);
    if (request === undefined) return undefined;
    this.#requests.delete(spanId);
    this.#bytes -= request.bytes;
    return request;
  }
}
