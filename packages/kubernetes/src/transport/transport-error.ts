import { CodedError } from "@xfn/errors";
export type TransportErrorCode =
  /** The server did nothing: there was no connection, or it refused the stream. */
  | "NotSent"
  /** The connection ended before the response. The server may have executed the request. */
  | "Lost"
  | "Timeout"
  | "Aborted";

/** A request that got no response. */
export class TransportError extends CodedError<TransportErrorCode> {
  override readonly name = "TransportError";
  /** Whether the same request may succeed later. After `Lost` or `Timeout`, a write may have happened already. */
  override readonly retryable: boolean = this.code !== "Aborted";
}

export function abortedRequest(signal: AbortSignal): TransportError {
  return new TransportError("Aborted", "the caller aborted the request", { cause: signal.reason });
}

export function closedTransport(): TransportError {
  return new TransportError("Aborted", "the client was closed");
}
