import type { JsonObject, JsonPath, JsonValue } from "@xfn/functionio";
import { compileAllRules } from "./cel/run-rules.ts";
import { checkStructure } from "./structural/check-structure.ts";
import { checkSchemaValues } from "./structural/check-values.ts";
import { applySchemaDefaults } from "./structural/default.ts";
import type { SchemaIssue, SchemaIssueReason } from "./structural/issue.ts";
import { readSchema } from "./structural/node.ts";
import { type Pruned, pruneUnknown } from "./structural/prune.ts";
import { SchemaError, type SchemaFinding } from "./structural/schema-error.ts";
import { compileValidation } from "./structural/validate.ts";

/** A schema, ready for any number of values. None of the functions changes the value that it is given. */
export interface Schema {
  /** The value with defaults filled in, and without nulls that the schema does not allow. */
  default(value: JsonValue): JsonValue;
  /** The value without fields that the schema does not name, and which those were. */
  prune(value: JsonValue): Pruned;
  /**
   * What the schema does not allow, in the order of the value; at most 100 issues.
   *
   * @param old - the value before an update: rules that compare with it (`oldSelf`) are skipped without one
   */
  validate(value: JsonValue, old?: JsonValue): SchemaIssue[];
}

// After these an API server does not run rules.
const BLOCKING: readonly SchemaIssueReason[] = ["Required", "Type", "TooLong", "TooMany"];

/**
 * Prepares the `openAPIV3Schema` of a CRD (or any structural schema) as an API server does.
 *
 * @param at - where the schema stands in its document, for messages
 * @throws {SchemaError} with everything that keeps it from being used
 */
export function compileSchema(openAPIV3Schema: JsonObject, at: JsonPath = []): Schema {
  const node = readSchema(openAPIV3Schema, at);
  const findings: SchemaFinding[] = [];
  const report = (finding: SchemaFinding): void => void findings.push(finding);
  const validate = compileValidation(node, report);
  const runRules = compileAllRules(node, report);
  if (findings.length > 0) throw new SchemaError(findings);
  return {
    default: (value) => applySchemaDefaults(node, value),
    prune: (value) => pruneUnknown(node, value),
    validate: (value, old) => {
      const issues = validate(value);
      // Rules may rely on types and on what is required; with those broken their failures would only confuse.
      return issues.some(({ reason }) => BLOCKING.includes(reason)) ? issues : [...issues, ...runRules(value, old)];
    },
  };
}

/**
 * Finds what an API server would refuse in a CRD's schema: it is not structural, or a default is not valid.
 *
 * @param at - where the schema stands in its document, for messages
 * @throws {SchemaError} with all of it
 */
export function checkSchema(openAPIV3Schema: JsonObject, at: JsonPath = []): void {
  const node = readSchema(openAPIV3Schema, at);
  const structure = checkStructure(node);
  const findings = structure.length > 0 ? structure : checkSchemaValues(node);
  if (findings.length > 0) throw new SchemaError(findings);
}
