import { CodedError } from "@xfn/errors";
import { describeIssues, formatPath, type JsonPath, MAX_ISSUES } from "@xfn/json";

/** A problem of a schema. */
export interface SchemaFinding {
  /** {@link at} as text. */
  readonly path: string;
  /** The path in the schema, or in its document. */
  readonly at: JsonPath;
  /** The problem and its fix, without the path. */
  readonly message: string;
}

/** Reports a problem at a path. */
export type Report = (at: JsonPath, message: string) => void;

/**
 * Collects the problems of a schema. A hostile schema has very many. Keeps only as many as an error lists, and one
 * more, which shows that there are others.
 */
export class Findings {
  readonly all: SchemaFinding[] = [];

  readonly report: Report = (at, message) => {
    if (!this.isFull) this.all.push({ path: formatPath(at), at, message });
  };

  /** Whether further problems are not kept. Checks can stop then. */
  get isFull(): boolean {
    return this.all.length > MAX_ISSUES;
  }

  /** @throws {SchemaError} if there are problems */
  throwIfAny(): void {
    if (this.all.length > 0) throw new SchemaError(this.all);
  }
}

/** A schema is invalid. Lists all problems. */
export class SchemaError extends CodedError<"InvalidSchema"> {
  override readonly name = "SchemaError";
  /** At most {@link MAX_ISSUES}. */
  readonly issues: readonly SchemaFinding[];

  constructor(issues: readonly SchemaFinding[], options?: ErrorOptions) {
    super("InvalidSchema", describeIssues(issues), options);
    this.issues = issues.slice(0, MAX_ISSUES);
  }
}
