/**
 * Why a server answers a call with a gRPC status (https://grpc.io/docs/guides/status-codes/).
 *
 * - `InvalidArgument` the message is not a request
 * - `ResourceExhausted` the message is too large
 * - `Unimplemented` there is no such method, or the message is compressed
 * - `Internal` the function's output has no form in gRPC
 */
export type ServeErrorCode = "InvalidArgument" | "ResourceExhausted" | "Unimplemented" | "Internal";

/** A call that a server refuses or cannot answer. The caller sees the message. */
export class ServeError extends Error {
  override readonly name = "ServeError";
  readonly code: ServeErrorCode;
  /** The same call fails again. */
  readonly retryable = false;

  constructor(code: ServeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Flags or files with which a function cannot be served. */
export class ServeOptionsError extends Error {
  override readonly name = "ServeOptionsError";
  readonly code = "InvalidOptions";
  readonly retryable = false;
}
