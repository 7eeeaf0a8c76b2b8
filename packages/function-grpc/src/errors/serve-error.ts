import { CodedError } from "@xfn/errors";
/**
 * Why a server answers a call with a gRPC status (https://grpc.io/docs/guides/status-codes/).
 *
 * - `InvalidArgument` the message is not a request
 * - `ResourceExhausted` the message is too large
 * - `Unimplemented` the method does not exist, or the message is compressed
 * - `Internal` the function's output cannot be encoded for gRPC
 */
export type ServeErrorCode = "InvalidArgument" | "ResourceExhausted" | "Unimplemented" | "Internal";

/** A call that a server rejects or cannot answer. The caller receives the message. */
export class ServeError extends CodedError<ServeErrorCode> {
  override readonly name = "ServeError";
}

/** Flags or files with which a function cannot be served. */
export class ServeOptionsError extends CodedError<"InvalidOptions"> {
  override readonly name = "ServeOptionsError";

  constructor(message: string, options?: ErrorOptions) {
    super("InvalidOptions", message, options);
  }
}
