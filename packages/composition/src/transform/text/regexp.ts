import type { RE2JS } from "re2js";
import { parseRegexp } from "./parse-regexp.ts";
import { inspectPattern } from "./regexp-pattern.ts";
import type { Fail } from "./transform-error.ts";

/** Longer patterns are not written by hand. */
const MAX_PATTERN_LENGTH = 4096;

/**
 * The most instructions of a compiled pattern, fewer than Go's bound. Eight characters can need thousands, and
 * compiling a few 100,000 takes a second, so the size is estimated before.
 */
const MAX_PROGRAM_SIZE = 20_000;

const TOO_LARGE: RegexpProblem = { reason: "the regexp is too large: lower its repetition counts", isLimit: true };

/**
 * The most steps of a match. RE2 needs at most one step per instruction and character, 10 million in 0.3 s. `(a+)+$`
 * has 8 instructions, and matches up to 375,000 characters.
 */
const MAX_WORK = 3_000_000;

/** The characters of a pattern that an error message quotes. */
const MAX_QUOTED = 100;

/** A regexp of a Composition: RE2 syntax, leftmost-first, in time linear in the input. */
export interface UserRegexp {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
  /** A group's text in the first match, "" if the group did not match. Undefined without a match or such a group. */
  group(text: string, group: number): string | undefined;
}

/** Why a pattern does not compile. */
export interface RegexpProblem {
  readonly reason: string;
  /** The pattern exceeds one of our bounds. Go may accept it. */
  readonly isLimit: boolean;
}

/** Compiles a pattern once, on first use. */
export function lazyRegexp(pattern: string, fail: Fail): () => UserRegexp {
  let compiled: UserRegexp | undefined;
  let problem: RegexpProblem | undefined;
  return () => {
    if (compiled !== undefined) return compiled;
    if (problem === undefined) {
      const outcome = compile(pattern.toWellFormed());
      if (!("reason" in outcome)) {
        compiled = userRegexp(outcome, pattern, fail);
        return compiled;
      }
      problem = outcome;
    }
    return fail("Config", problem.reason);
  };
}

/** Returns why a pattern does not compile, or undefined if it compiles. */
export function regexpProblem(pattern: string): RegexpProblem | undefined {
  const outcome = compile(pattern.toWellFormed());
  return "reason" in outcome ? outcome : undefined;
}

function compile(pattern: string): RE2JS | RegexpProblem {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    return { reason: `the regexp is longer than ${MAX_PATTERN_LENGTH} characters`, isLimit: true };
  }
  const facts = inspectPattern(pattern);
  if (facts.hasAngleGroup) {
    const reason = `the regexp ${quoted(pattern)} has a group (?<name>...): RE2 writes (?P<name>...), and has no lookbehind`;
    return { reason, isLimit: false };
  }
  if (facts.size > MAX_PROGRAM_SIZE) return TOO_LARGE;
  const regexp = parseRegexp(pattern);
  if ("reason" in regexp) {
    return { reason: `the regexp ${quoted(pattern)} is not in RE2 syntax: ${regexp.reason}`, isLimit: false };
  }
  return regexp.programSize() > MAX_PROGRAM_SIZE ? TOO_LARGE : regexp;
}

function userRegexp(regexp: RE2JS, pattern: string, fail: Fail): UserRegexp {
  const size = regexp.programSize();
  const boundedInput = (text: string): string => {
    if (text.length * size > MAX_WORK) return fail("Limit", `the input is too long for the regexp ${quoted(pattern)}`);
    // Go reads a byte of invalid UTF-8 as U+FFFD. Both have one code unit, so positions stay the same.
    return text.toWellFormed();
  };
  return {
    test: (text) => regexp.test(boundedInput(text)),
    group: (text, group) => {
      const matcher = regexp.matcher(boundedInput(text));
      if (group > regexp.groupCount() || !matcher.find()) return undefined;
      const start = matcher.start(group);
      return start < 0 ? "" : text.slice(start, matcher.end(group));
    },
  };
}

/** Quotes the beginning of a pattern for messages. */
export function quoted(pattern: string): string {
  return JSON.stringify(pattern.length > MAX_QUOTED ? `${pattern.slice(0, MAX_QUOTED)}...` : pattern);
}
