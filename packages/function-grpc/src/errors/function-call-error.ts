import { CodedError } from "@xfn/errors";
/**
 * Why a call of a function has no response.
 *
 * - `Cancelled` the caller's signal was aborted
 * - `DeadlineExceeded` the deadline passed, here or in the function
 * - `ConnectionLost` the function's process, or the connection to it, ended
 * - `NotGrpc` the server does not use gRPC
 * - `TooLarge` a message exceeds a limit, the function's or ours
 * - `ExcessiveLoad` the server sent far more protocol data than a response needs
 * - `Malformed` the response is not a `RunFunctionResponse`
 * - `Status` the function returned a gRPC status; see {@link FunctionCallError.status}
 */
export type FunctionCallErrorCode =
  | "Cancelled"
  | "DeadlineExceeded"
  | "ConnectionLost"
  | "NotGrpc"
  | "TooLarge"
  | "ExcessiveLoad"
  | "Malformed"
  | "Status";

/** The details of a failed call. */
export interface FunctionCallErrorOptions extends ErrorOptions {
  /** The gRPC status code, if the function sent one. */
  readonly status?: number;
  /** Whether the function cannot have received the request. */
  readonly undelivered?: boolean;
}

/** A failed call of a function. The message includes the function's own message, shortened. */
export class FunctionCallError extends CodedError<FunctionCallErrorCode> {
  override readonly name = "FunctionCallError";
  /** https://grpc.io/docs/guides/status-codes/ */
  readonly status: number | undefined;
  /** Whether the function cannot have received the request. */
  readonly undelivered: boolean;

  constructor(code: FunctionCallErrorCode, message: string, options: FunctionCallErrorOptions = {}) {
    // Callers may retry only a request that was not delivered: a function may have effects.
    super(code, message, { cause: options.cause, retryable: options.undelivered });
    this.status = options.status;
    this.undelivered = options.undelivered === true;
  }
}
