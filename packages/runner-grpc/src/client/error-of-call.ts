import type { ServiceError } from "@grpc/grpc-js";
import { RunnerGrpcError, type RunnerGrpcErrorDetails, type StatusName } from "../wire/runner-grpc-error.ts";
import { codeOf, statusName } from "../wire/status-codes.ts";
import { decodeStatusDetails, STATUS_DETAILS_KEY } from "../wire/status-details.ts";

/** Which call failed. */
export interface CallContext {
  readonly image: string;
  readonly step: string | undefined;
  readonly endpoint: string;
  /** Whether it had ended, or was about to end, by its deadline. */
  readonly deadlinePassed: boolean;
}

/** A failed call as the caller sees it: from the server's details where it sent some, else from the status. */
export function errorOfCall(failure: ServiceError, context: CallContext): RunnerGrpcError {
  const status = statusName(failure.code);
  const known: RunnerGrpcErrorDetails = { status, image: context.image, cause: failure };
  if (context.step !== undefined) known.step = context.step;
  const sent = failure.metadata.get(STATUS_DETAILS_KEY)[0];
  const details = Buffer.isBuffer(sent) ? decodeStatusDetails(sent) : undefined;
  // What the caller knows wins over what comes back of it: the image may have been shortened on the way.
  if (details !== undefined) {
    return new RunnerGrpcError(details.code, details.message, { ...details.details, ...known });
  }
  return withoutDetails(status, failure.details, known, context);
}

function withoutDetails(
  status: StatusName,
  text: string,
  known: RunnerGrpcErrorDetails,
  { image, endpoint, deadlinePassed }: CallContext,
): RunnerGrpcError {
  const { code, retryable } = codeOf(status);
  // A socket of another user: gRPC calls every failure to connect UNAVAILABLE, and no retry mends this one.
  if (status === "UNAVAILABLE" && /\b(?:EACCES|EPERM)\b/.test(text)) {
    const message = `the runner's socket ${endpoint} is not this user's: ${text}`;
    return new RunnerGrpcError("PermissionDenied", message, { ...known, status: "PERMISSION_DENIED" });
  }
  // Said by grpc-js of this process, when it sees the length of an answer.
  if (status === "RESOURCE_EXHAUSTED" && text.startsWith("Received message larger than max")) {
    return new RunnerGrpcError("OutputTooLarge", `${image}: the answer is too large: ${text}`, {
      ...known,
      phase: "output",
    });
  }
  // grpc-go's servers reset a call at its deadline as if they had been asked to.
  if (status === "CANCELLED" && deadlinePassed) {
    return new RunnerGrpcError("Timeout", `${image}, by the runner at ${endpoint}: its deadline has passed`, {
      ...known,
      status: "DEADLINE_EXCEEDED",
      phase: "timeout",
    });
  }
  const phase = status === "DEADLINE_EXCEEDED" ? { phase: "timeout" as const } : {};
  return new RunnerGrpcError(code, `${image}, by the runner at ${endpoint}: ${text}`, {
    ...known,
    ...phase,
    retryable,
  });
}
