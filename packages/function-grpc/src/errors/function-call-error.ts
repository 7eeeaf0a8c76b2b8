import { CodedError } from "@xfn/errors";
/**
 * Why a call of a function has no response.
 *
 * - `Cancelled` the caller's signal was aborted
 * - `DeadlineExceeded` the time was over, here or at the function
 * - `ConnectionLost` the function's process, or the way to it, ended
 * - `NotGrpc` something else than gRPC answers there
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

/** A call of a function that failed. The message includes what the function says, shortened. */
export class FunctionCallError extends CodedError<FunctionCallErrorCode> {
  override readonly name = "FunctionCallError";
  /** https://grpc.io/docs/guides/status-codes/ */
  readonly status: number | undefined;
  /** Whether the function cannot have received the request. */
  readonly undelivered: boolean;

  constructor(code: FunctionCallErrorCode, message: string, options: FunctionCallErrorOptions = {}) {
    // Only a request that was not delivered can be sent again: a function may have effects.
    super(code, message, { cause: options.cause, retryable: options.undelivered });
    this.status = options.status;
    this.undelivered = options.undelivered === true;
  }
}
