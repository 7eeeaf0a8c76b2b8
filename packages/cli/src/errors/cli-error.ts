import { ExitCode } from "@xfn/program/exit-code";

/** What a {@link CliError} is about: the command line itself, or the run. */
export type CliErrorCode = "Usage" | "Failed";

/** An error with a message that is meant for the person at the terminal. `details` are further lines, such as hints. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: CliErrorCode;
  readonly exitCode: number;
  readonly details: readonly string[];
  readonly retryable: boolean = false;

  constructor(code: CliErrorCode, message: string, options: { details?: readonly string[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.exitCode = code === "Failed" ? ExitCode.failed : ExitCode.usage;
    this.details = options.details ?? [];
  }
}

/** The command line is wrong: an unknown value, or options that do not go together. Exit code 2. */
export function usageError(message: string, details: readonly string[] = []): CliError {
  return new CliError("Usage", message, { details });
}
