import { describeIssue, type Issue } from "@xfn/functionio";

/**
 * - `Required`: a field is missing
 * - `Invalid`: a field has a value that it cannot have
 * - `Duplicate`: a name occurs twice
 * - `Unsupported`: the API has this, this version does not
 * - `Unknown`: no such field (a warning: a newer version of the API may have it)
 * - `Ignored`: the field has no effect here (a warning)
 */
export type FindingCode = "Required" | "Invalid" | "Duplicate" | "Unsupported" | "Unknown" | "Ignored";

/** One thing that is wrong with a Composition. */
export interface Finding extends Issue {
  severity: "error" | "warning";
  code: FindingCode;
}

/** More findings than this are counted, not listed: nobody reads on, and an error must not grow without bound. */
export const MAX_FINDINGS = 100;

/** A Composition that cannot be used. Lists every error of the file, not only the first. */
export class CompositionError extends Error {
  override readonly name = "CompositionError";
  /** `Unsupported` if all that stands in the way is what this version does not do yet; else `Invalid`. */
  readonly code: "Invalid" | "Unsupported";
  /** The errors, in the order of the file; at least one, at most {@link MAX_FINDINGS}. */
  readonly issues: readonly Finding[];
  /** The file that the Composition came from. */
  readonly source: string | undefined;
  /** The same file fails again. */
  readonly retryable = false;

  constructor(issues: readonly Finding[], source?: string, options?: ErrorOptions) {
    const lines = issues.slice(0, MAX_FINDINGS).map((issue) => describeIssue(issue, source));
    if (issues.length > MAX_FINDINGS) lines.push(`and ${issues.length - MAX_FINDINGS} more`);
    super(lines.join("\n"), options);
    this.code = issues.every((issue) => issue.code === "Unsupported") ? "Unsupported" : "Invalid";
    this.issues = issues.slice(0, MAX_FINDINGS);
    this.source = source;
  }
}
