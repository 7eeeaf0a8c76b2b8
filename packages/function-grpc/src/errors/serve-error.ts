import { CodedError } from "@xfn/errors";
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
