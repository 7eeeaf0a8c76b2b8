import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import type { Fail } from "./transform-error.ts";

// The library is a third of a megabyte, and most compositions have no regexp: it is loaded for the first that is used. Compiling is
// synchronous, hence require.
const require: NodeJS.Require = createRequire(import.meta.url);
let library: typeof import("re2js") | undefined;

/** Longer patterns are no patterns that a person wrote; RE2's time is proportional to the pattern's length times the input's. */
const MAX_PATTERN_LENGTH = 10_000;

/**
 * The instructions that a pattern may compile to. Repetitions multiply (`((a{30}){30}){30}`), and every character of the input may visit
 * every instruction. Go has a bound of its own, on memory, that is higher.
 */
const MAX_PROGRAM_SIZE = 50_000;

/** A regexp of a composition: RE2 syntax, leftmost-first, in time linear in the input. */
export interface UserRegexp {
  /** Whether it matches somewhere. */
  test(text: string): boolean;
  /** A group's text in the first match: "" if the group took no part, undefined if there is no match or no such group. */
  group(text: string, group: number): string | undefined;
}

/** Compiles a pattern when it is first used, once. */
export function lazyRegexp(pattern: string, fail: Fail): () => UserRegexp {
  let compiled: UserRegexp | undefined;
  let reason: string | undefined;
  return () => {
    if (compiled !== undefined) return compiled;
    if (reason === undefined) {
      const outcome = compile(pattern.toWellFormed());
      if (typeof outcome !== "string") {
        compiled = outcome;
        return outcome;
      }
      reason = outcome;
    }
    return fail("Config", reason);
  };
}

function compile(pattern: string): UserRegexp | string {
  if (pattern.length > MAX_PATTERN_LENGTH) return `the regexp is longer than ${MAX_PATTERN_LENGTH} characters`;
  library ??= require("re2js") as typeof import("re2js");
  let regexp: RE2JS;
  try {
    regexp = library.RE2JS.compile(pattern);
  } catch (error) {
    return `the regexp ${JSON.stringify(pattern)} is not valid (RE2 syntax): ${error instanceof Error ? error.message : String(error)}`;
  }
  if (regexp.programSize() > MAX_PROGRAM_SIZE) return "the regexp is too large: lower its repetition counts";
  return {
    test: (text) => regexp.test(text.toWellFormed()),
    group: (text, group) => {
      // Go reads a byte that is not valid UTF-8 as U+FFFD, of the length of one unit here: positions stay the same.
      const matcher = regexp.matcher(text.toWellFormed());
      if (group < 0 || group > regexp.groupCount() || !matcher.find()) return undefined;
      const start = matcher.start(group);
      return start < 0 ? "" : text.slice(start, matcher.end(group));
    },
  };
}
