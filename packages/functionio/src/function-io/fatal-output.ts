import { isObject, type JsonValue } from "@xfn/json/sdk";
import type { Result } from "./functionio.ts";
import type { Finding } from "./validate.ts";

/** Options for the output of a function. */
export interface OutputOptions {
  /**
   * Whether a function returned the document. If it has a fatal result, nothing else of it is used. Its other problems
   * are then ignored, because they would hide why the function failed.
   */
  isOutput?: boolean;
}

const IDENTITY: ReadonlySet<unknown> = new Set(["apiVersion", "kind"]);

/**
 * The results of an invalid output, if one is fatal and the output is of the expected kind. Undefined otherwise.
 *
 * @param isFatal whether a severity is fatal
 */
export function fatalResults(
  value: JsonValue,
  findings: readonly Finding[],
  isFatal: (severity: string) => boolean,
): Result[] | undefined {
  if (!isObject(value) || findings.some(({ path }) => path.length === 0 || IDENTITY.has(path[0]))) return undefined;
  const { results } = value;
  const valid = Array.isArray(results) ? results.filter(isResult) : [];
  return valid.some(({ severity }) => isFatal(severity)) ? valid : undefined;
}

function isResult(value: JsonValue): value is Result {
  return isObject(value) && typeof value["severity"] === "string" && typeof value["message"] === "string";
}
