import { CodedError } from "@xfn/errors";
import { ExitCode } from "@xfn/program/exit-code";

/** Whether the command line is wrong, or the run failed. */
export type CliErrorCode = "Usage" | "Failed";

/** An error with a message for the person at the terminal. `details` are further lines, such as hints. */
export class CliError extends CodedError<CliErrorCode> {
  override readonly name = "CliError";
  readonly exitCode: number;
  readonly details: readonly string[];

  constructor(code: CliErrorCode, message: string, options: { details?: readonly string[]; cause?: unknown } = {}) {
    super(code, message, options);
    this.exitCode = code === "Failed" ? ExitCode.failed : ExitCode.usage;
    this.details = options.details ?? [];
  }
}

/** Recognises the error of another copy of this module as well. */
export function isCliError(error: unknown): error is CliError {
  return error instanceof Error && error.name === "CliError" && "exitCode" in error;
}

/** Makes an error about the command line: an unknown value, or options that exclude each other. Exit code 2. */
export function usageError(message: string, details: readonly string[] = []): CliError {
  return new CliError("Usage", message, { details });
}
