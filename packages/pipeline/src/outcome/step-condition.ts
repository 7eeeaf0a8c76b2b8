/** A condition that a step sets on the XR. */
export interface StepCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message?: string;
  /** Whether the claim shows it too. */
  target: "Composite" | "CompositeAndClaim";
  /** The step that set it. */
  step: string;
}
