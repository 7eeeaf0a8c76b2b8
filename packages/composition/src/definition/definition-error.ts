import { describeIssues } from "@xfn/json";
import { type Finding, MAX_FINDINGS } from "../reader/composition-error.ts";

/** A CompositeResourceDefinition is invalid. Lists all errors. */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
  /** `NotOffered`: there is no claim. `Mismatch`: it does not define the kind or version of the resource. */
  readonly code: "Invalid" | "NotOffered" | "Mismatch";
  /** The errors, in the order of the file; at least one, at most {@link MAX_FINDINGS}. */
  readonly issues: readonly Finding[];
  /** The file that the definition came from. */
  readonly source: string | undefined;
  /** The same definition fails again. */
  readonly retryable = false;

  constructor(code: DefinitionError["code"], issues: readonly Finding[], source?: string, options?: ErrorOptions) {
    super(describeIssues(issues, source, MAX_FINDINGS), options);
    this.code = code;
    this.issues = issues.slice(0, MAX_FINDINGS);
    this.source = source;
  }
}
