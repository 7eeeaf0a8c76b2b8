import type { HttpRequest } from "./transport.ts";
import { abortedRequest, TransportError } from "./transport-error.ts";

/** Destroys a request when its signal aborts, or when the head of the response does not arrive in time. */
export class RequestGuard {
  readonly #target: { destroy(error: Error): unknown };
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  #reason: TransportError | undefined;

  constructor(target: { destroy(error: Error): unknown }, { signal, headTimeoutMs }: HttpRequest) {
    this.#target = target;
    this.#signal = signal;
    this.#timer = setTimeout(() => {
      this.#end(new TransportError("Timeout", `no response within ${headTimeoutMs / 1000} s`));
    }, headTimeoutMs);
    signal?.addEventListener("abort", this, { once: true });
  }

  /** Why the guard destroyed the request. */
  get reason(): TransportError | undefined {
    return this.#reason;
  }

  headArrived(): void {
    clearTimeout(this.#timer);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this);
  }

  /** Listens for the signal's abort (DOM standard, EventListener): the guard itself needs no closure. */
  handleEvent(): void {
    if (this.#signal !== undefined) this.#end(abortedRequest(this.#signal));
  }

  /** A reader of the body, or a caller that waits for the head, gets the error. */
  #end(error: TransportError): void {
    this.#reason ??= error;
    this.#target.destroy(this.#reason);
  }
}
