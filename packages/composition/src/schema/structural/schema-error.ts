import { describeIssue, type JsonPath, MAX_ISSUES } from "@xfn/functionio";

/** One thing that is wrong with a schema. */
export interface SchemaFinding {
  /** As {@link at}, as text. */
  readonly path: string;
  /** Where in the schema, or in the document that holds it. */
  readonly at: JsonPath;
  /** What is wrong and what to do, without the path. */
  readonly message: string;
}

/** A schema that cannot be used. Lists everything that is wrong with it. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code = "InvalidSchema";
  /** At most {@link MAX_ISSUES}. */
  readonly issues: readonly SchemaFinding[];
  /** The same schema fails again. */
  readonly retryable = false;

  constructor(issues: readonly SchemaFinding[], options?: ErrorOptions) {
    const lines = issues.slice(0, MAX_ISSUES).map((issue) => describeIssue(issue));
    if (issues.length > MAX_ISSUES) lines.push(`and ${issues.length - MAX_ISSUES} more`);
    super(lines.join("\n"), options);
    this.issues = issues.slice(0, MAX_ISSUES);
  }
}
