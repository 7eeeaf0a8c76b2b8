// Structural schemas, as Kubernetes uses them: defaults, pruning, validation.
export { checkSchema, compileSchema, type Schema } from "./compile.ts";
export { describeSchemaIssue, type SchemaIssue, type SchemaIssueReason } from "./structural/issue.ts";
export type { Pruned } from "./structural/prune.ts";
export { SchemaError, type SchemaFinding } from "./structural/schema-error.ts";
export { MAX_VALIDATION_STEPS } from "./structural/validate.ts";
