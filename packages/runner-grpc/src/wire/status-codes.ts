import { status } from "@grpc/grpc-js";
import { RunnerGrpcError, type StatusName } from "./runner-grpc-error.ts";

export function statusNumber(name: StatusName): status {
  return status[name];
}

/** The name of a status; `UNKNOWN` for an unassigned number. */
export function statusName(code: number): StatusName {
  const name = status[code];
  return name === undefined || name === "OK" ? "UNKNOWN" : (name as StatusName);
}

/**
 * The meaning of a status without details, which comes from the Go runner, a proxy, or gRPC itself.
 *
 * The Go runner ends every failed call with UNKNOWN, including failed pulls, so a retry may help.
 */
export function codeOf(name: StatusName): { code: string; retryable: boolean } {
  switch (name) {
    case "CANCELLED":
      return { code: "Aborted", retryable: true };
    case "DEADLINE_EXCEEDED":
      return { code: "Timeout", retryable: true };
    case "INVALID_ARGUMENT":
    case "OUT_OF_RANGE":
      return { code: "InvalidRequest", retryable: false };
    case "UNAUTHENTICATED":
      return { code: "Unauthenticated", retryable: false };
    case "PERMISSION_DENIED":
      return { code: "PermissionDenied", retryable: false };
    case "RESOURCE_EXHAUSTED":
      return { code: "ResourceExhausted", retryable: true };
    case "UNIMPLEMENTED":
      return { code: "Unimplemented", retryable: false };
    case "UNAVAILABLE":
      return { code: "Unavailable", retryable: true };
    case "UNKNOWN":
      return { code: "Unknown", retryable: true };
    case "ABORTED":
      return { code: "Killed", retryable: true };
    case "NOT_FOUND":
    case "ALREADY_EXISTS":
    case "FAILED_PRECONDITION":
      return { code: "FailedPrecondition", retryable: false };
    case "INTERNAL":
    case "DATA_LOSS":
      return { code: "Internal", retryable: false };
  }
}

/** The error of a function that ended its call with a gRPC status. */
export function errorOfStatus(number: number, message: string, image: string, stderr = ""): RunnerGrpcError {
  const name = statusName(number);
  const details = { ...codeOf(name), status: name, image, phase: "run", byFunction: true, stderr } as const;
  return new RunnerGrpcError(details.code, message, details);
}
