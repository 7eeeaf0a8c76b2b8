import {
  formatPath,
  type Issue,
  type JsonPath,
  type JsonValue,
  MAX_ISSUES,
  type Position,
  UNNAMED_ISSUE,
} from "@xfn/json/sdk";
import { fatalResults, type OutputOptions } from "./fatal-output.ts";
import { API_VERSION, type FunctionIO, KIND, severityOf } from "./functionio.ts";
import { FunctionIOError } from "./functionio-error.ts";
import { type Finding, type ValidateOptions, validateFunctionIO } from "./validate.ts";

/** A value and its source. */
interface Located {
  value: JsonValue;
  source: string | undefined;
  /** The positions of paths, in the time of one walk over the text. */
  positionsOf?(paths: readonly JsonPath[]): (Position | undefined)[];
}

/**
 * Checks that the value of a document is a FunctionIO.
 *
 * @throws {FunctionIOError} Invalid, with all issues and their positions
 */
export function checkFunctionIO(document: Located, options: ValidateOptions & OutputOptions): FunctionIO {
  const findings = validateFunctionIO(document.value, options);
  if (findings.length === 0) return document.value as FunctionIO;
  const isFatal = (severity: string): boolean => severityOf({ severity, message: "" }) === "Fatal";
  const results = options.isOutput === true ? fatalResults(document.value, findings, isFatal) : undefined;
  if (results !== undefined) return { apiVersion: API_VERSION, kind: KIND, observed: {}, results };
  throw refuse(findings, document);
}

/** The error with all findings, and their positions in the document. */
export function refuse(findings: readonly Finding[], document: Located): FunctionIOError {
  const shown = findings.slice(0, MAX_ISSUES);
  const positions = document.positionsOf?.(shown.map(({ path }) => path));
  const issues: Issue[] = shown.map(({ path, message }, index) => ({
    path: formatPath(path),
    message,
    ...positions?.[index],
  }));
  // Issues above the bound are only counted.
  while (issues.length < findings.length) issues.push(UNNAMED_ISSUE);
  return new FunctionIOError("Invalid", issues, document.source);
}
