import { constants } from "node:os";
import { CodedError } from "@xfn/errors";

/** Exit codes of all programs. Scripts test for them. */
export const ExitCode = {
  ok: 0,
  /** The command could not do its work: a fatal result, a failed run, or a server that cannot go on. */
  failed: 1,
  /** The arguments, the environment, or a file that they name are invalid. */
  usage: 2,
} as const;

/** The exit code after a signal, as shells report it: 130 for SIGINT. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Invalid arguments or environment variables. Exit code 2. */
export class UsageError extends CodedError<"Usage"> {
  override readonly name = "UsageError";
  /** All problems, one line each. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super("Usage", problems.join("\n"), options);
    this.problems = problems;
  }
}
