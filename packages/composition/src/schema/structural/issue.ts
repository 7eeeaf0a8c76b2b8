import type { JsonPath, JsonValue } from "@xfn/json";
import { printGoJson } from "../../values/go-json.ts";
import { Float64 } from "../../values/go-value.ts";
import type { SchemaNode } from "./node.ts";

/**
 * The kind of a failure, named after the beginning of the API server's message.
 *
 * - `Required`, `Duplicate`, `Unsupported` (no value of an enum), `TooLong`, `TooMany`, `Forbidden`
 * - `Type`: the value has another type; `Format`: a text has another format; `Invalid`: any other failure
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

/** A failure of validation. */
export interface SchemaIssue {
  /** The field in Kubernetes' form, `spec.list[0].name`; "" for the whole value. */
  readonly path: string;
  /** The same as keys and indexes. For a missing field, its expected position. */
  readonly at: JsonPath;
  readonly reason: SchemaIssueReason;
  /**
   * The failure in Kubernetes' words. It contains a value of the document only through a messageExpression of the
   * schema.
   */
  readonly message: string;
  /** The invalid value. It may be secret, so the caller decides whether to print it. */
  readonly value?: JsonValue;
  /** The text of the CEL rule that failed. Absent for other failures. */
  readonly rule?: string;
  /** Whether a messageExpression made the message, which can contain a value of the document. */
  readonly isComputed?: true;
}

/** Formats a path like Kubernetes. */
export function formatFieldPath(path: JsonPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}

/** Formats a path as Kubernetes does for rules and duplicates, with the keys of maps in brackets: `labels[app]`. */
export function formatKeyedPath(start: SchemaNode, at: JsonPath): string {
  let text = "";
  let node: SchemaNode | undefined = start;
  for (const step of at) {
    const property: SchemaNode | undefined = typeof step === "string" ? node?.properties.get(step) : undefined;
    const { additional, items }: Partial<SchemaNode> = node ?? {};
    if (typeof step === "number") node = items;
    else node = property ?? (typeof additional === "object" ? additional : undefined);
    const isName = property !== undefined || (typeof step === "string" && typeof additional !== "object");
    if (!isName) text += `[${step}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}

// Messages cut longer values.
const MAX_VALUE_LENGTH = 200;

/** Formats an issue as one line in Kubernetes' words, *with* at most 200 characters of the invalid value. */
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

/** Prints a value as JSON, cut to the maximum length. */
function printValue(value: JsonValue | Float64): string {
  let text: string;
  try {
    text = printGoJson(value);
  } catch {
    // NaN, or too deep. Documents contain neither.
    text = "?";
  }
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}...`;
}
