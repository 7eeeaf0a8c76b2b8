import { CodedError } from "@xfn/errors";
import { describeIssues, type Issue } from "@xfn/json";

/**
 * - `Required`: a field is missing
 * - `Invalid`: a field has an invalid value
 * - `Duplicate`: a name occurs twice
 * - `Unsupported`: the API has this, but this version does not support it
 * - `Unknown`: no such field; a warning, because a newer version of the API may have it
 * - `Ignored`: the field has no effect; a warning
 */
export type FindingCode = "Required" | "Invalid" | "Duplicate" | "Unsupported" | "Unknown" | "Ignored";

/** A problem of a Composition. */
export interface Finding extends Issue {
  severity: "error" | "warning";
  code: FindingCode;
}

/** The most findings that are listed. Further ones are only counted, so that an error stays small. */
export const MAX_FINDINGS = 100;

/**
 * A Composition is invalid. Lists all errors of the file. `Unsupported` if all errors are features that this version
 * does not support, otherwise `Invalid`.
 */
export class CompositionError extends CodedError<"Invalid" | "Unsupported"> {
  override readonly name = "CompositionError";
  /** The errors, in the order of the file; at least one, at most {@link MAX_FINDINGS}. */
  readonly issues: readonly Finding[];
  /** The file that the Composition came from. */
  readonly source: string | undefined;

  constructor(issues: readonly Finding[], source?: string, options?: ErrorOptions) {
    const code = issues.every((issue) => issue.code === "Unsupported") ? "Unsupported" : "Invalid";
    super(code, describeIssues(issues, source, MAX_FINDINGS), options);
    this.issues = issues.slice(0, MAX_FINDINGS);
    this.source = source;
  }
}
