import { describeSchemaIssue, type Schema } from "@xfn/composition/schema";
import { formatPath, type JsonPath } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
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
  const issues = found.map((issue): FieldError => {
    const shown = issue.value !== undefined && isSecret?.(issue.at) ? { ...issue, value: "(hidden)" } : issue;
    return {
      type: issue.rule ? "cel" : "schema",
      field: issue.path,
      message: describeSchemaIssue(shown),
      ...(shown.value !== undefined && { value: shown.value }),
      ...positionOf(document, issue.at),
    };
  });
  const unknown = schema.prune(value).unknown.map((at) => unknownField(document, at));
  return [...issues, ...unknown].toSorted(byPosition);
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
