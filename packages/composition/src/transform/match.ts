import type { MatchPattern, MatchTransform } from "../api/template.ts";
import type { GoValue } from "../values/go-value.ts";
import { isObject, kindOf } from "../values/json.ts";
import type { CompiledTransform } from "./compiled.ts";
import { asFloats } from "./json-values.ts";
import { lazyRegexp } from "./text/regexp.ts";
import type { Fail } from "./text/transform-error.ts";

/**
 * Returns the result of the first pattern that matches. A wrong pattern fails only if no earlier one matches.
 */
export function compileMatch(match: MatchTransform, fail: Fail): CompiledTransform {
  if (match.patterns !== undefined && match.patterns !== null && !Array.isArray(match.patterns)) {
    return () => fail("Config", "match.patterns must be a list");
  }
  const patterns = (match.patterns ?? []).map((pattern, i) => compilePattern(pattern, i, fail));
  const fallback = compileFallback(match, fail);
  return (input) => {
    for (const pattern of patterns) if (pattern.matches(input)) return pattern.result();
    return fallback(input);
  };
}

interface CompiledPattern {
  matches(input: GoValue): boolean;
  result(): GoValue;
}

function compilePattern(pattern: MatchPattern, index: number, fail: Fail): CompiledPattern {
  const failed: Fail = (code, reason) => fail(code, `match.patterns[${index}]: ${reason}`);
  if (!isObject(pattern)) return { matches: () => failed("Config", "must be an object"), result: () => null };
  return { matches: compileTest(pattern, failed), result: constant(pattern.result, failed) };
}

function compileTest({ type, literal, regexp }: MatchPattern, fail: Fail): (input: GoValue) => boolean {
  switch (type ?? "literal") {
    case "literal": {
      if (typeof literal !== "string") return () => fail("Config", "literal is missing");
      const wellFormed = literal.toWellFormed();
      return (input) => text(input, fail) === wellFormed;
    }
    case "regexp": {
      if (typeof regexp !== "string") return () => fail("Config", "regexp is missing");
      const compiled = lazyRegexp(regexp, fail);
      return (input) => compiled().test(text(input, fail));
    }
    default:
      return () => fail("Config", "type must be literal or regexp");
  }
}

function text(input: GoValue, fail: Fail): string {
  return typeof input === "string" ? input : fail("Input", `the input must be a string, not ${kindOf(input)}`);
}

function compileFallback({ fallbackTo, fallbackValue }: MatchTransform, fail: Fail): CompiledTransform {
  if (fallbackTo !== "Input") return constant(fallbackValue, fail);
  if (fallbackValue === undefined || fallbackValue === null) return (input) => input;
  return () => fail("Config", "match has both a fallbackValue and fallbackTo: Input");
}

/** Converts a value of the Composition on first use. */
function constant(value: GoValue | undefined, fail: Fail): () => GoValue {
  let made: GoValue | undefined;
  return () => {
    made ??= asFloats(value ?? null, fail);
    return made;
  };
}
