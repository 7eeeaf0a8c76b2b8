/** A phase of a call in which it can fail (design section 3.2). */
export type RunnerPhase = "pull" | "unpack" | "start" | "run" | "timeout" | "output";

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
export interface RunnerGrpcErrorDetails {
  /** The status that the call ended with, or is to end with; that of the code by default (see `statusOf`). */
  status?: StatusName;
  phase?: RunnerPhase;
  image?: string;
  step?: string;
  /** The end of what the function wrote to stderr. */
  stderr?: string;
  /** The function's exit code. */
  exitCode?: number;
  /** Whether the same call may succeed later; that of the code by default. */
  retryable?: boolean;
  /** A retry before so many milliseconds have passed is not worth it. */
  retryAfterMs?: number;
  cause?: unknown;
}

interface CodeMeaning {
  readonly status: StatusName;
  readonly retryable: boolean;
}

// Codes that have a meaning on both sides, and the status that each travels as. Statuses are chosen by what a caller that knows
// only gRPC should do: UNAVAILABLE says "try again", FAILED_PRECONDITION "not before something has been mended".
const MEANINGS: ReadonlyMap<string, CodeMeaning> = new Map<string, CodeMeaning>([
  // The request.
  ["InvalidRequest", { status: "INVALID_ARGUMENT", retryable: false }],
  ["InputTooLarge", { status: "RESOURCE_EXHAUSTED", retryable: false }],
  ["Unauthenticated", { status: "UNAUTHENTICATED", retryable: false }],
  ["PermissionDenied", { status: "PERMISSION_DENIED", retryable: false }],
  ["Unimplemented", { status: "UNIMPLEMENTED", retryable: false }],
  // The runner as it is now.
  ["QueueFull", { status: "RESOURCE_EXHAUSTED", retryable: true }],
  ["ResourceExhausted", { status: "RESOURCE_EXHAUSTED", retryable: true }],
  ["Unavailable", { status: "UNAVAILABLE", retryable: true }],
  ["Closed", { status: "UNAVAILABLE", retryable: true }],
  ["Internal", { status: "INTERNAL", retryable: false }],
  // The caller's own doing.
  ["Aborted", { status: "CANCELLED", retryable: false }],
  // The run: the codes of a runner's errors. A pull that no retry mends travels as FAILED_PRECONDITION (see statusOf).
  ["PullFailed", { status: "UNAVAILABLE", retryable: true }],
  ["ImageInvalid", { status: "FAILED_PRECONDITION", retryable: false }],
  ["RuntimeMissing", { status: "FAILED_PRECONDITION", retryable: false }],
  ["NamespaceUnavailable", { status: "FAILED_PRECONDITION", retryable: false }],
  ["LimitUnavailable", { status: "FAILED_PRECONDITION", retryable: false }],
  ["RootFilesystemFailed", { status: "INTERNAL", retryable: false }],
  ["StartFailed", { status: "INTERNAL", retryable: false }],
  ["Timeout", { status: "DEADLINE_EXCEEDED", retryable: true }],
  ["Killed", { status: "ABORTED", retryable: true }],
  ["OutOfMemory", { status: "RESOURCE_EXHAUSTED", retryable: true }],
  ["TooManyProcesses", { status: "RESOURCE_EXHAUSTED", retryable: false }],
  ["DiskFull", { status: "RESOURCE_EXHAUSTED", retryable: false }],
  ["OutputTooLarge", { status: "RESOURCE_EXHAUSTED", retryable: false }],
  // As the Go runner answers: a function's own failure has no status of gRPC.
  ["NonZeroExit", { status: "UNKNOWN", retryable: false }],
]);

/** The status that an error with this code travels as; undefined for a code that has no meaning in the contract. */
export function statusOf(code: string, retryable?: boolean): StatusName | undefined {
  if (code === "PullFailed" && retryable === false) return "FAILED_PRECONDITION";
  return MEANINGS.get(code)?.status;
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
    this.retryable = details.retryable ?? MEANINGS.get(code)?.retryable ?? false;
    this.retryAfterMs = details.retryAfterMs;
  }
}
