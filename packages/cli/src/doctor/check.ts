/**
 * `ok`: no problem. `warn`: containers run, but slower or less safely. `fail`: containers cannot run. `info`: no action
 * is needed.
 */
export type CheckStatus = "ok" | "warn" | "fail" | "info";

/** One line of the report. */
export interface Check {
  /** A stable name, for programs that read `xfn doctor --json`. */
  readonly id: string;
  /** The subject of the check, for people. */
  readonly title: string;
  readonly status: CheckStatus;
  /** The finding. */
  readonly detail: string;
  /** The command or the setting that fixes the problem. */
  readonly remedy?: string;
}

/** The report of all checks. */
export interface DoctorReport {
  /** Whether containers of functions can run on this host. */
  readonly canRun: boolean;
  readonly checks: readonly Check[];
}
