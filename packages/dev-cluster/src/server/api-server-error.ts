import { CodedError } from "@xfn/errors";
/** The API server could not be started, or one of its programs exited unexpectedly. */
export class ApiServerError extends CodedError<"ProgramExited" | "NotReady" | "NoFreePort"> {
  override readonly name = "ApiServerError";
  override readonly retryable = true;
}
