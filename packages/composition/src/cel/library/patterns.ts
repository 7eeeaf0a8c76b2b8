import type { RE2JS } from "re2js";
import { parseRegexp } from "../../transform/text/parse-regexp.ts";
import { Failure } from "../values/value.ts";

// Rules use few different patterns.
const MAX_PATTERNS = 100;
const patterns = new Map<string, RE2JS>();

/** Compiles a regular expression of RE2, which takes linear time. */
export function patternOf(pattern: string): RE2JS | Failure {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const expression = parseRegexp(pattern);
  if ("reason" in expression) return new Failure("invalid regular expression");
  if (patterns.size >= MAX_PATTERNS) patterns.clear();
  patterns.set(pattern, expression);
  return expression;
}
