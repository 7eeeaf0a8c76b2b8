import type { JsonObject, JsonPath, JsonValue } from "@xfn/json";
import type { FieldPath } from "../field-path/field-path.ts";
import { checkRulesOf } from "./cel/check-rules.ts";
import { compileAllRules } from "./cel/run-rules.ts";
import { checkStructure } from "./structural/check-structure.ts";
import { checkSchemaValues } from "./structural/check-values.ts";
import { applySchemaDefaults } from "./structural/default.ts";
import type { SchemaIssue, SchemaIssueReason } from "./structural/issue.ts";
import { findMissingField, type MissingField, typeOfField } from "./structural/missing-field.ts";
import { readSchema } from "./structural/node.ts";
import { type Pruned, pruneUnknown } from "./structural/prune.ts";
import { Findings, type SchemaFinding } from "./structural/schema-error.ts";
import { compileValidation } from "./structural/validate.ts";

/** A compiled schema. No function changes its argument. */
export interface Schema {
  /** The rules and patterns that are invalid. They are skipped: the rest of the schema works without them. */
  readonly problems: readonly SchemaFinding[];
  /** Fills in defaults, and drops nulls that the schema does not allow. */
  default(value: JsonValue): JsonValue;
  /** Drops fields that the schema does not declare, and returns which they were. */
  prune(value: JsonValue): Pruned;
  /**
   * Validates a value. Returns at most 100 issues, in the order of the value. Unlike an API server with ratcheting
   * (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting),
   * it also reports invalid fields that an update does not change.
   *
   * @param old - the value before an update. Without it, rules with `oldSelf` are skipped
   */
  validate(value: JsonValue, old?: JsonValue): SchemaIssue[];
  /** The first field of a path that no object of the schema can have; undefined if all may exist. */
  missingField(path: FieldPath): MissingField | undefined;
  /** The type of the field at a path; "" if the schema specifies no type, or allows several. */
  typeOf(path: FieldPath): string;
}

// After one of these, an API server does not run rules.
const BLOCKING: readonly SchemaIssueReason[] = ["Required", "Type", "Format", "TooLong", "TooMany"];

/**
 * Compiles the `openAPIV3Schema` of a CRD, or any structural schema, like an API server.
 *
 * @param at - the path of the schema in its document, for messages
 * @throws {SchemaError} if a keyword has a value of the wrong type, or the schema is too large
 */
export function compileSchema(openAPIV3Schema: JsonObject, at: JsonPath = []): Schema {
  const node = readSchema(openAPIV3Schema, at);
  const findings = new Findings();
  const validate = compileValidation(node, findings.report);
  const { run } = compileAllRules(node, findings.report);
  return {
    problems: findings.all,
    default: (value) => applySchemaDefaults(node, value),
    prune: (value) => pruneUnknown(node, value),
    missingField: (path) => findMissingField(node, path),
    typeOf: (path) => typeOfField(node, path),
    validate: (value, old) => {
      const issues = validate(value);
      // Rules rely on types and required fields. After a failure of those, failures of rules would only confuse.
      return issues.some(({ reason }) => BLOCKING.includes(reason)) ? issues : [...issues, ...run(value, old)];
    },
  };
}

/**
 * Checks whether an API server accepts a CRD's schema: it must be structural, with valid defaults and rules.
 *
 * @param at - the path of the schema in its document, for messages
 * @throws {SchemaError} with all problems of the schema
 */
export function checkSchema(openAPIV3Schema: JsonObject, at: JsonPath = []): void {
  const node = readSchema(openAPIV3Schema, at);
  const findings = new Findings();
  checkStructure(node, findings.report);
  if (findings.all.length === 0) checkSchemaValues(node, findings.report);
  if (findings.all.length === 0) checkRulesOf(node, findings.report);
  findings.throwIfAny();
}

/**
 * Checks whether an API server accepts the rules of a structural schema: their syntax and types, their cost, and the
 * defaults that they forbid.
 *
 * @param at - the path of the schema in its document, for messages
 * @throws {SchemaError} with all problems of the rules
 */
export function checkRules(openAPIV3Schema: JsonObject, at: JsonPath = []): void {
  const findings = new Findings();
  checkRulesOf(readSchema(openAPIV3Schema, at), findings.report);
  findings.throwIfAny();
}
