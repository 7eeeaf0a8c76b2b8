// Structural schemas, as Kubernetes uses them: defaults, pruning, validation.
export { checkPatches, type PatchSchemas } from "./check-patches.ts";
export { checkRules, checkSchema, compileSchema, type Schema } from "./compile.ts";
export { checkMetadata, type MetadataRules } from "./metadata/check-metadata.ts";
export type { NameRule } from "./metadata/object-names.ts";
export { describeSchemaIssue, type SchemaIssue, type SchemaIssueReason } from "./structural/issue.ts";
export type { MissingField } from "./structural/missing-field.ts";
export type { Pruned } from "./structural/prune.ts";
export { SchemaError, type SchemaFinding } from "./structural/schema-error.ts";
export { MAX_VALIDATION_STEPS } from "./structural/validate.ts";
