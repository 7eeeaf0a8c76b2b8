import type { JsonPath, JsonValue } from "@xfn/functionio";
import { printGoJson } from "../../values/go-json.ts";
import { Float64 } from "../../values/go-value.ts";

/**
 * What kind of failure it is, after the words with which an API server begins its message.
 *
 * - `Required`, `Duplicate`, `Unsupported` (no value of an enum), `TooLong`, `TooMany`, `Forbidden`
 * - `Type` the value has another type; `Format` it is no such text; `Invalid` anything else
 */
export type SchemaIssueReason =
  | "Required"
  | "Type"
  | "Format"
  | "Unsupported"
  | "TooLong"
  | "TooMany"
  | "Duplicate"
  | "Forbidden"
  | "Invalid";

/** One thing about a value that its schema does not allow. */
export interface SchemaIssue {
  /** The field as Kubernetes writes it, `spec.list[0].name`; "" for the value as a whole. */
  readonly path: string;
  /** The same as keys and indices. Of a missing field, where it should be. */
  readonly at: JsonPath;
  readonly reason: SchemaIssueReason;
  /**
   * What is wrong, in Kubernetes' words, without any value of the document - unless the author of the schema put one there
   * with a messageExpression.
   */
  readonly message: string;
  /** What was found. It may be secret: whoever prints it decides. */
  readonly value?: JsonValue;
  /** The CEL rule that failed, as written; absent for every other issue. */
  readonly rule?: string;
}

/** A path as Kubernetes writes it. */
export function formatFieldPath(path: JsonPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}

// Longer values are cut in messages; nobody compares more by eye.
const MAX_VALUE_LENGTH = 200;

/** An issue as one line in Kubernetes' wording, *with* the value that was found (at most 200 characters of it). */
export function describeSchemaIssue(issue: SchemaIssue): string {
  const path = issue.path === "" ? "<nil>" : issue.path;
  const value = issue.value === undefined ? '""' : printValue(issue.value);
  switch (issue.reason) {
    case "Required":
      return join(`${path}: Required value`, issue.message);
    case "Unsupported":
      return join(`${path}: Unsupported value: ${value}`, issue.message);
    case "TooLong":
      return join(`${path}: Too long`, issue.message);
    case "TooMany":
      return join(`${path}: Too many: ${value}`, issue.message);
    case "Duplicate":
      return join(`${path}: Duplicate value: ${value}`, issue.message);
    case "Forbidden":
      return join(`${path}: Forbidden`, issue.message);
    case "Type":
    case "Format":
      return `${path}: Invalid value: ${value}: ${issue.message}: ${value}`;
    case "Invalid":
      return join(`${path}: Invalid value: ${value}`, issue.message);
  }
}

function join(start: string, message: string): string {
  return message === "" ? start : `${start}: ${message}`;
}

/** JSON of a value, cut when long. */
function printValue(value: JsonValue | Float64): string {
  let text: string;
  try {
    text = printGoJson(value);
  } catch {
    // NaN, or too deep: neither comes from a document.
    text = "?";
  }
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}...`;
}
