/**
 * `ok`: as it should be. `warn`: containers run, but slower or less safely. `fail`: containers cannot run. `info`: good to
 * know, nothing to do.
 */
export type CheckStatus = "ok" | "warn" | "fail" | "info";

/** One line of the report. */
export interface Check {
  /** Stable name for programs that read `xfn doctor --json`. */
  readonly id: string;
  /** What was looked at, for people. */
  readonly title: string;
  readonly status: CheckStatus;
  /** What was found. */
  readonly detail: string;
  /** The command, or the setting, that mends it. */
  readonly remedy?: string;
}

/** The whole report. */
export interface DoctorReport {
  /** Whether a function's container can run here. */
  readonly canRun: boolean;
  readonly checks: readonly Check[];
}
