import { describeSchemaIssue, type Schema, type SchemaIssue } from "@xfn/composition/schema";
import { formatPath, type JsonPath } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { secretFields } from "@xfn/pipeline/trace";
import { positionOf } from "./documents.ts";
import type { FieldError } from "./result.ts";

/** The errors of an object with its defaults against a schema, in the order of the file. Hides values of secrets. */
export function schemaErrors(document: ParsedDocument, schema: Schema): FieldError[] {
  const { value } = document;
  const complete = schema.default(value);
  const found = schema.validate(complete);
  // Hide secrets, unlike an API server: this output ends up in the logs of pipelines.
  const isSecret = found.length === 0 ? undefined : secretFields(complete);
  const issues = found.map((issue) =>
    issueError(document, issue.value !== undefined && isSecret?.(issue.at) ? { ...issue, value: "(hidden)" } : issue),
  );
  const unknown = schema.prune(value).unknown.map((at) => unknownField(document, at));
  return [...issues, ...unknown].toSorted(byPosition);
}

/** An issue with its position. */
export function issueError(document: ParsedDocument, issue: SchemaIssue): FieldError {
  return {
    type: issue.rule ? "cel" : issue.message.startsWith("unknown field") ? "unknownField" : "schema",
    field: issue.path,
    message: `${describeSchemaIssue(issue)}${yamlWord(document, issue)}`,
    ...(issue.value !== undefined && { value: issue.value }),
    ...positionOf(document, issue.at),
  };
}

/** Explains a boolean that YAML makes of a word such as `y` or `off`. */
function yamlWord(document: ParsedDocument, { reason, at, value }: SchemaIssue): string {
  if (reason !== "Type" || value !== "boolean") return "";
  const word = document.unquotedAt?.(at);
  if (word === undefined || /^(?:true|false)$/i.test(word)) return "";
  return `; YAML reads ${word} as ${/^(?:y|yes|on)$/i.test(word)}: quote it if it is text`;
}

/** Compares errors by their position in one file. */
export function byPosition(a: FieldError, b: FieldError): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

function unknownField(document: ParsedDocument, at: JsonPath): FieldError {
  const field = formatPath(at);
  const name = String(at.at(-1) ?? "");
  const quoted = JSON.stringify(name);
  return {
    type: "unknownField",
    field,
    message: `${field}: Invalid value: ${quoted}: unknown field: ${quoted}`,
    value: name,
    ...positionOf(document, at),
  };
}
