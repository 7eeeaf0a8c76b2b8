import { CodedError } from "@xfn/errors/coded-error";
import { MAX_ISSUES } from "./limits.ts";

/** One problem of a document. */
export interface Issue {
  /** The field, such as `desired.resources[0].name`; "" for the document as a whole. */
  path: string;
  /** The problem and the way out, without the path. */
  message: string;
  /** Line in the text, from 1. Absent if the value did not come from a text. */
  line?: number;
  /** Column in the text in UTF-16 code units, from 1. */
  column?: number;
}

/** An issue above {@link MAX_ISSUES}, of which only the number counts: hostile input has a million of them. */
export const UNNAMED_ISSUE: Issue = { path: "", message: "is one of many problems" };

/**
 * Why a document was refused.
 *
 * - `Encoding` not UTF-8
 * - `Empty` no document in the text
 * - `Syntax` neither JSON nor YAML
 * - `MultipleDocuments` more than one document
 * - `TooLarge` more bytes than the limit
 * - `TooDeep` nested deeper than the limit
 * - `TooManyValues` more fields and items, or objects in a stream of JSON, than the limit
 * - `TooManyAliases` more YAML aliases, or more values from them, than the limit
 * - `UnsupportedTag` a YAML tag without a JSON form
 * - `DuplicateKey` a key twice in an object
 * - `NotJson` a value without a JSON form: NaN, infinity, a lone surrogate, undefined
 * - `Invalid` well-formed, but not the expected document (see the issues)
 */
export type DocumentErrorCode =
  | "Encoding"
  | "Empty"
  | "Syntax"
  | "MultipleDocuments"
  | "TooLarge"
  | "TooDeep"
  | "TooManyValues"
  | "TooManyAliases"
  | "UnsupportedTag"
  | "DuplicateKey"
  | "NotJson"
  | "Invalid";

/** A text that cannot be read. Lists every issue, not only the first. */
export class DocumentError extends CodedError<DocumentErrorCode> {
  override readonly name: string = "DocumentError";
  /** At least one and at most {@link MAX_ISSUES}, in the order of the text. */
  readonly issues: readonly Issue[];
  /** The source file or step of the text. */
  readonly source: string | undefined;

  constructor(code: DocumentErrorCode, issues: readonly Issue[], source?: string, options?: ErrorOptions) {
    super(code, describeIssues(issues, source), options);
    this.issues = issues.slice(0, MAX_ISSUES);
    this.source = source;
  }
}

/** One issue as a line: `file.yaml:3:7: desired.resources[0].name: is missing`. */
export function describeIssue(issue: Issue, source?: string): string {
  const place = [source, issue.line, issue.column].filter((part) => part !== undefined).join(":");
  return [place, issue.path, issue.message].filter((part) => part !== "").join(": ");
}

/** The first issues, a line each, and how many others there are. */
export function describeIssues(issues: readonly Issue[], source?: string, most: number = MAX_ISSUES): string {
  const lines = issues.slice(0, most).map((issue) => describeIssue(issue, source));
  if (issues.length > most) lines.push(`and ${issues.length - most} more`);
  return lines.join("\n");
}
