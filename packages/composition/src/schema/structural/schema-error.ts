import { describeIssues, type JsonPath, MAX_ISSUES } from "@xfn/functionio";

/** A problem of a schema. */
export interface SchemaFinding {
  /** {@link at} as text. */
  readonly path: string;
  /** The path in the schema, or in its document. */
  readonly at: JsonPath;
  /** The problem and its fix, without the path. */
  readonly message: string;
}

/** A schema is invalid. Lists all problems. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code = "InvalidSchema";
  /** At most {@link MAX_ISSUES}. */
  readonly issues: readonly SchemaFinding[];
  /** The same schema fails again. */
  readonly retryable = false;

  constructor(issues: readonly SchemaFinding[], options?: ErrorOptions) {
    super(describeIssues(issues), options);
    this.issues = issues.slice(0, MAX_ISSUES);
  }
}
