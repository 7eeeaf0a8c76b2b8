import type { ServiceError } from "@grpc/grpc-js";
import { RunnerGrpcError, type RunnerGrpcErrorDetails, type StatusName } from "../wire/runner-grpc-error.ts";
import { codeOf, statusName } from "../wire/status-codes.ts";
import { decodeStatusDetails, STATUS_DETAILS_KEY } from "../wire/status-details.ts";

export interface CallContext {
  readonly image: string;
  readonly step: string | undefined;
  readonly endpoint: string;
  /** Whether the call ended at its deadline. */
  readonly deadlinePassed: boolean;
}

/** Converts a failed call to an error: by the server's details if there are any, else by the status. */
export function errorOfCall(failure: ServiceError, context: CallContext): RunnerGrpcError {
  const status = statusName(failure.code);
  const known: RunnerGrpcErrorDetails = { status, image: context.image, cause: failure };
  if (context.step !== undefined) known.step = context.step;
  const sent = failure.metadata.get(STATUS_DETAILS_KEY)[0];
  const details = Buffer.isBuffer(sent) ? decodeStatusDetails(sent) : undefined;
  // The caller's own values take precedence: the server may have shortened the image.
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
  // The socket belongs to another user. gRPC reports every connection failure as UNAVAILABLE, but no retry fixes this
  // one.
  if (status === "UNAVAILABLE" && /\b(?:EACCES|EPERM)\b/.test(text)) {
    const message = `this user may not open the runner's socket ${endpoint}: ${text}`;
    return new RunnerGrpcError("PermissionDenied", message, { ...known, status: "PERMISSION_DENIED" });
  }
  // grpc-js in this process reports this when it reads the length of an answer.
  if (status === "RESOURCE_EXHAUSTED" && text.startsWith("Received message larger than max")) {
    return new RunnerGrpcError("OutputTooLarge", `${image}: the answer is too large: ${text}`, {
      ...known,
      phase: "output",
    });
  }
  // grpc-go's servers reset a call at its deadline with CANCELLED.
  if (status === "CANCELLED" && deadlinePassed) {
    return new RunnerGrpcError("Timeout", `${image}, by the runner at ${endpoint}: its deadline has passed`, {
      ...known,
      status: "DEADLINE_EXCEEDED",
      phase: "timeout",
    });
  }
  const unconnected = status === "UNAVAILABLE" ? unconnectedMessage(text, endpoint) : undefined;
  if (unconnected !== undefined) {
    return new RunnerGrpcError(code, unconnected, { ...known, retryable, undelivered: true });
  }
  // grpc-js reports this after REFUSED_STREAM, which promises that the call was not processed (RFC 9113, 8.7).
  const undelivered = status === "UNAVAILABLE" && text === "Stream refused by server";
  const phase = status === "DEADLINE_EXCEEDED" ? { phase: "timeout" as const } : {};
  return new RunnerGrpcError(code, `${image}, by the runner at ${endpoint}: ${text}`, {
    ...known,
    ...phase,
    retryable,
    undelivered,
  });
}

/** The message for a lost or missing connection to a runner; undefined if grpc-js reports another failure. */
export function unconnectedMessage(text: string, endpoint: string): string | undefined {
  // grpc-js reports its attempts, and an empty note on the name resolution. With several addresses it repeats the
  // beginning.
  const cause =
    /^(?:(?:round_robin: )?No connection established\. Last error: )+(?:Error: )?(.*?)\.? Resolution note:/s.exec(
      text,
    )?.[1] ?? /^(?:round_robin: )?(Name resolution failed) for target /.exec(text)?.[1];
  return cause && `no runner answers at ${endpoint} (${cause}): start one with xfn-runner serve`;
}
