/** Exit codes of the programs, those of xfn: scripts test for them. */
export const ExitCode = {
  ok: 0,
  /** A run failed, or the server cannot go on. */
  failed: 1,
  /** The arguments, the environment or the files that they name are wrong. */
  usage: 2,
} as const;

/** Arguments or environment that cannot be used: all that is wrong with them, a line each. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "Usage";
  readonly retryable = false;
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}
