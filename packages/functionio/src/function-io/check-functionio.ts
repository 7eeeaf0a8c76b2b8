import { FunctionIOError } from "../json/errors.ts";
import { formatPath, type JsonPath, type JsonValue } from "../json/json-value.ts";
import { MAX_ISSUES } from "../json/limits.ts";
import type { Position } from "../json/text.ts";
import type { FunctionIO } from "./functionio.ts";
import { type ValidateOptions, validateFunctionIO } from "./validate.ts";

/** A value and its source. */
interface Located {
  value: JsonValue;
  source: string | undefined;
  positionOf(path: JsonPath): Position | undefined;
}

/**
 * Checks that the value of a document is a FunctionIO.
 *
 * @throws {FunctionIOError} Invalid, with all issues and their positions
 */
export function checkFunctionIO(document: Located, options: ValidateOptions): FunctionIO {
  const findings = validateFunctionIO(document.value, options);
  if (findings.length === 0) return document.value as FunctionIO;
  const issues = findings.map(({ path, message }, index) => ({
    path: formatPath(path),
    message,
    // A position costs a walk over the text. Issues above the bound are only counted.
    ...(index < MAX_ISSUES ? document.positionOf(path) : undefined),
  }));
  throw new FunctionIOError("Invalid", issues, document.source);
}
