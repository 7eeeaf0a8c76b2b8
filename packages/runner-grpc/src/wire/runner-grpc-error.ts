import {
  isRetryable,
  type RunnerErrorCode,
  type RunnerErrorDetails,
  type RunnerPhase,
  type ServiceErrorCode,
} from "@xfn/runner-contract";

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

/** What is known about a failed call besides its code and message. */
export interface RunnerGrpcErrorDetails extends Partial<RunnerErrorDetails> {
  /** The status of the call; default: by the code (see `statusOf`). */
  status?: StatusName;
  /** A retry before so many milliseconds have passed is not worth it. */
  retryAfterMs?: number;
}

// Chosen by what a caller that knows only gRPC should do: retry after UNAVAILABLE, fix something first after FAILED_PRECONDITION.
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
  RootFilesystemFailed: "INTERNAL",
  StartFailed: "INTERNAL",
  Timeout: "DEADLINE_EXCEEDED",
  Killed: "ABORTED",
  OutOfMemory: "RESOURCE_EXHAUSTED",
  TooManyProcesses: "RESOURCE_EXHAUSTED",
  DiskFull: "RESOURCE_EXHAUSTED",
  OutputTooLarge: "RESOURCE_EXHAUSTED",
  // Like Crossplane's Go runner: gRPC has no status for a failure of the function itself.
  NonZeroExit: "UNKNOWN",
};
const STATUS_BY_CODE: ReadonlyMap<string, StatusName> = new Map(Object.entries(STATUSES));

/** The status that an error with this code travels as; undefined for a code that has no meaning in the contract. */
export function statusOf(code: string, retryable?: boolean): StatusName | undefined {
  if (code === "PullFailed" && retryable === false) return "FAILED_PRECONDITION";
  return STATUS_BY_CODE.get(code);
}

/**
 * A call that gave no output. The client rejects with it; a `run` that a server serves may throw one, which then travels as it is.
 *
 * `code` is a string for programs: a runner's own (`PullFailed`, `Timeout`, `NonZeroExit`, ...), or, where the server sends no
 * details, one made of the status. The README of this package has all of them.
 */
export class RunnerGrpcError extends Error {
  override readonly name = "RunnerGrpcError";
  readonly code: string;
  readonly status: StatusName;
  readonly phase: RunnerPhase | undefined;
  readonly image: string | undefined;
  readonly step: string | undefined;
  readonly stderr: string | undefined;
  readonly exitCode: number | undefined;
  /** Whether a retry of the same call can help. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, details: RunnerGrpcErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? statusOf(code, details.retryable) ?? "UNKNOWN";
    this.phase = details.phase;
    this.image = details.image;
    this.step = details.step;
    this.stderr = details.stderr;
    this.exitCode = details.exitCode;
    this.retryable = details.retryable ?? isRetryable(code);
    this.retryAfterMs = details.retryAfterMs;
  }
}
