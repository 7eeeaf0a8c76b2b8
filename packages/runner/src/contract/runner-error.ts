/** What went wrong while running a function; errors *of* the function (its exit code, its output) included. */
export type RunnerErrorCode =
  | "PullFailed"
  | "ImageInvalid"
  | "RuntimeMissing"
  | "NamespaceUnavailable"
  | "LimitUnavailable"
  | "RootFilesystemFailed"
  | "StartFailed"
  | "NonZeroExit"
  | "Killed"
  | "Timeout"
  | "OutOfMemory"
  /** The function failed, and had been refused a process or thread by its limit. */
  | "TooManyProcesses"
  /** The function failed, and had no room left for its files. */
  | "DiskFull"
  | "OutputTooLarge"
  | "Aborted"
  | "Closed";

/** Where in the life of a call an error arose (the phases of the runner contract, design section 3.2). */
export type RunnerPhase = "pull" | "unpack" | "start" | "run" | "timeout" | "output";

const retryableCodes: ReadonlySet<RunnerErrorCode> = new Set([
  "PullFailed",
  "Timeout",
  "OutOfMemory",
  "Killed",
  "Closed",
]);

/** What is known about a failed call besides its code and message. */
export interface RunnerErrorDetails {
  phase: RunnerPhase;
  /** The image reference as the caller gave it. */
  image?: string;
  /** The pipeline step, where the caller named one. */
  step?: string;
  /** The end of what the function wrote to stderr, at most `STDERR_TAIL_BYTES`. */
  stderr?: string;
  /** The function's exit code, for `NonZeroExit`. */
  exitCode?: number;
  /** Whether the same call may succeed later; derived from the code where absent. */
  retryable?: boolean;
  cause?: unknown;
}

/** A call that gave no output. `code` is for programs, the message names the image and the way out. */
export class RunnerError extends Error {
  override readonly name = "RunnerError";
  readonly code: RunnerErrorCode;
  readonly phase: RunnerPhase;
  readonly image: string | undefined;
  readonly step: string | undefined;
  readonly stderr: string | undefined;
  readonly exitCode: number | undefined;
  /** Whether a retry of the same call can help. */
  readonly retryable: boolean;

  constructor(code: RunnerErrorCode, message: string, details: RunnerErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.phase = details.phase;
    this.image = details.image;
    this.step = details.step;
    this.stderr = details.stderr;
    this.exitCode = details.exitCode;
    this.retryable = details.retryable ?? retryableCodes.has(code);
  }
}
