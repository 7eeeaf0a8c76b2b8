/** Exit codes of every command. They are part of the command line's contract: scripts test for them. */
export const ExitCode = {
  ok: 0,
  /** A function reported a fatal result, or the run failed. */
  failed: 1,
  /** The arguments or the files they name are wrong; running again without a change cannot help. */
  usage: 2,
} as const;

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
