// Structural schemas, as Kubernetes uses them: defaults, pruning, validation.
export { checkSchema, compileSchema, type Schema } from "./compile.ts";
export { describeSchemaIssue, type SchemaIssue, type SchemaIssueReason } from "./issue.ts";
export type { Pruned } from "./prune.ts";
export { SchemaError, type SchemaFinding } from "./schema-error.ts";
export { MAX_VALIDATION_STEPS } from "./validate.ts";
