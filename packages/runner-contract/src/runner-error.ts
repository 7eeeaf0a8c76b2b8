import { CodedError } from "@xfn/errors";
import { isRetryable, type RunnerErrorCode, type RunnerPhase } from "./error-codes.ts";

/** Details of a failed run in addition to its code and message. */
export interface RunnerErrorDetails {
  phase: RunnerPhase;
  /** The image reference as the caller gave it. */
  image?: string | undefined;
  /** The pipeline step, if the caller named one. */
  step?: string | undefined;
  /** The end of the function's stderr; the runner bounds its length. */
  stderr?: string | undefined;
  /** The function's exit code, for `NonZeroExit`. */
  exitCode?: number | undefined;
  /** Whether the same call may succeed later; default: by the code. */
  retryable?: boolean | undefined;
  cause?: unknown;
}

/** A run without output. Programs read `code`; the message names the image and the fix. */
export class RunnerError extends CodedError<RunnerErrorCode> {
  override readonly name = "RunnerError";
  readonly phase: RunnerPhase;
  readonly image: string | undefined;
  readonly step: string | undefined;
  readonly stderr: string | undefined;
  readonly exitCode: number | undefined;

  constructor(code: RunnerErrorCode, message: string, details: RunnerErrorDetails) {
    super(code, message, { cause: details.cause, retryable: details.retryable ?? isRetryable(code) });
    this.phase = details.phase;
    this.image = details.image;
    this.step = details.step;
    this.stderr = details.stderr;
    this.exitCode = details.exitCode;
  }
}
