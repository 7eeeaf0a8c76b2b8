import type { Severity } from "@xfn/functionio";

/** A result that a step reported, or that the pipeline reported about a step. */
export interface StepResult {
  severity: Severity;
  message: string;
  /** The step that the result is about. Absent for results about templates or about the run as a whole. */
  step?: string;
  /** A CamelCase word for programs, if the function gave one. */
  reason?: string;
  /** Whether the claim shows it too. Default: only the XR. */
  target?: "Composite" | "CompositeAndClaim";
}
