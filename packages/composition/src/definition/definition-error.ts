import { CodedError } from "@xfn/errors";
import { describeIssues } from "@xfn/json";
import { type Finding, MAX_FINDINGS } from "../reader/composition-error.ts";

/**
 * A CompositeResourceDefinition is invalid. Lists all errors. `NotOffered`: it offers no claim. `Mismatch`: it does not
 * define the kind or version of the resource.
 */
export class DefinitionError extends CodedError<"Invalid" | "NotOffered" | "Mismatch"> {
  override readonly name = "DefinitionError";
  /** The errors, in the order of the file; at least one, at most {@link MAX_FINDINGS}. */
  readonly issues: readonly Finding[];
  /** The file that the definition came from. */
  readonly source: string | undefined;

  constructor(code: DefinitionError["code"], issues: readonly Finding[], source?: string, options?: ErrorOptions) {
    super(code, describeIssues(issues, source, MAX_FINDINGS), options);
    this.issues = issues.slice(0, MAX_FINDINGS);
    this.source = source;
  }
}
