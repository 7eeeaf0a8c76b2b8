import { CodedError } from "@xfn/errors";
import {
  isRetryable,
  type RunnerErrorCode,
  type RunnerErrorDetails,
  type RunnerPhase,
  type ServiceErrorCode,
} from "@xfn/runner-contract";
import { escapeControls } from "@xfn/units";

/** The name of a gRPC status code (google.golang.org/grpc/codes). */
export type StatusName =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "OUT_OF_RANGE"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

/** Details of a failed call in addition to its code and message. */
export interface RunnerGrpcErrorDetails extends Partial<RunnerErrorDetails> {
  /** The status of the call. Default: the status of the code (see `statusOf`). */
  status?: StatusName | undefined;
  /** When to retry, in milliseconds. An earlier retry would fail again. */
  retryAfterMs?: number | undefined;
  /** Whether the call cannot have started: no runner received it, or the runner refused it. Default false. */
  undelivered?: boolean | undefined;
  /**
   * Whether the function chose the status and wrote the message, which is then output of the function. Default false.
   */
  byFunction?: boolean | undefined;
}

// Callers that know only gRPC decide by the status: retry after UNAVAILABLE, fix something first after
// FAILED_PRECONDITION.
const STATUSES: Readonly<Record<RunnerErrorCode | ServiceErrorCode, StatusName>> = {
  InvalidRequest: "INVALID_ARGUMENT",
  InputTooLarge: "RESOURCE_EXHAUSTED",
  Unauthenticated: "UNAUTHENTICATED",
  PermissionDenied: "PERMISSION_DENIED",
  Unimplemented: "UNIMPLEMENTED",
  QueueFull: "RESOURCE_EXHAUSTED",
  ResourceExhausted: "RESOURCE_EXHAUSTED",
  Unavailable: "UNAVAILABLE",
  Closed: "UNAVAILABLE",
  Internal: "INTERNAL",
  Aborted: "CANCELLED",
  // FAILED_PRECONDITION where a retry cannot help: see statusOf.
  PullFailed: "UNAVAILABLE",
  ImageInvalid: "FAILED_PRECONDITION",
  RuntimeMissing: "FAILED_PRECONDITION",
  NamespaceUnavailable: "FAILED_PRECONDITION",
  LimitUnavailable: "FAILED_PRECONDITION",
  ChrootUnavailable: "FAILED_PRECONDITION",
  RootFilesystemFailed: "INTERNAL",
  StartFailed: "INTERNAL",
  Timeout: "DEADLINE_EXCEEDED",
  Killed: "ABORTED",
  ServerExited: "ABORTED",
  TooManyServers: "RESOURCE_EXHAUSTED",
  OutOfMemory: "RESOURCE_EXHAUSTED",
  TooManyProcesses: "RESOURCE_EXHAUSTED",
  DiskFull: "RESOURCE_EXHAUSTED",
  OutputTooLarge: "RESOURCE_EXHAUSTED",
  // Crossplane's Go runner does the same: gRPC has no status for a failure of the function itself.
  NonZeroExit: "UNKNOWN",
};
const STATUS_BY_CODE: ReadonlyMap<string, StatusName> = new Map(Object.entries(STATUSES));

/** The status of an error code; undefined for a code that is not in the contract. */
export function statusOf(code: string, retryable?: boolean): StatusName | undefined {
  if (code === "PullFailed" && retryable === false) return "FAILED_PRECONDITION";
  return STATUS_BY_CODE.get(code);
}

/**
 * A call without output. The client rejects with it. A served `run` may throw it, which preserves all details.
 *
 * Programs read `code`: the runner's code (`PullFailed`, `Timeout`, `NonZeroExit`, ...) or, if the server sends no
 * details, a code derived from the status. The README of this package lists all codes.
 */
export class RunnerGrpcError extends CodedError<string> {
  override readonly name = "RunnerGrpcError";
  readonly status: StatusName;
  readonly phase: RunnerPhase | undefined;
  readonly image: string | undefined;
  readonly step: string | undefined;
  readonly stderr: string | undefined;
  readonly exitCode: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** Whether the call cannot have started: no runner received it, or the runner refused it. */
  readonly undelivered: boolean;
  /** Whether the function chose the status and wrote the message, which logs must not contain. */
  readonly byFunction: boolean;

  constructor(code: string, message: string, details: RunnerGrpcErrorDetails = {}) {
    // A server, or the runner that it forwards to, wrote parts of the message.
    super(code, escapeControls(message), { cause: details.cause, retryable: details.retryable ?? isRetryable(code) });
    this.status = details.status ?? statusOf(code, details.retryable) ?? "UNKNOWN";
    this.phase = details.phase;
    this.image = details.image;
    this.step = details.step;
    this.stderr = details.stderr;
    this.exitCode = details.exitCode;
    this.retryAfterMs = details.retryAfterMs;
    this.undelivered = details.undelivered === true;
    this.byFunction = details.byFunction === true;
  }
}
