import type { JsonValue } from "../value/json-value.ts";
import { DocumentError } from "./document-error.ts";
import type { ResolvedLimits } from "./limits.ts";
import { looksLikeJson, parseJson } from "./parse-json.ts";

/**
 * The value of a JSON text; undefined for other texts, which can be YAML (`{a: 1}` is).
 *
 * @throws {DocumentError} for JSON that must not be parsed as YAML
 */
export function readAsJson(text: string, limits: ResolvedLimits, source: string | undefined): JsonValue | undefined {
  if (!looksLikeJson(text)) return undefined;
  try {
    return parseJson(text, limits, source);
  } catch (error) {
    if (!(error instanceof DocumentError) || error.code !== "Syntax") throw error;
    // Some JSON writers print `{"a": NaN}`, which YAML would silently read as the string "NaN". A key, `{NaN: 1}`, is
    // text.
    const issue = error.issues.at(-1);
    if (/^expected a JSON value, found "(NaN|[+-]?Infinity|undefined)"$/.test(issue?.message ?? "")) throw error;
    return undefined;
  }
}
