import { describe, expect, test } from "vitest";
import { lazyRegexp, type UserRegexp } from "./regexp.ts";
import { failureOf } from "./transform-error.ts";

const regexp = (pattern: string): UserRegexp => lazyRegexp(pattern, failureOf(0, "string"))();

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

describe("regexps", () => {
  test("match leftmost-first", () => {
    expect(regexp("a|ab").group("ab", 0)).toBe("a");
    expect(regexp("(a|ab)(c|bcd)(d*)").group("abcd", 2)).toBe("bcd");
  });

  test("a group without a match is empty; a missing group, or no match, is undefined", () => {
    expect(regexp("(a)|(b)").group("b", 1)).toBe("");
    expect(regexp("(a)").group("a", 2)).toBeUndefined();
    expect(regexp("a").group("b", 0)).toBeUndefined();
  });

  test.each([
    "(?=a)",
    "(?!a)",
    "(?<=a)b",
    "(?<!a)b",
    "(a)\\1",
    "a++",
    "(?>a)",
    "(",
    "x{1001}",
    "((a{30}){30}){30}",
    "\\C\\8",
    "(?<name>a)",
  ])("%s is rejected", (pattern) => {
    expect(outcome(() => regexp(pattern))).toMatchObject({ name: "TransformError", code: "Config", retryable: false });
  });

  test("groups of the same name compile as in Go", () => {
    expect(regexp("(?P<a>x)(?P<a>y)(?P<b>z)").group("xyz", 2)).toBe("y");
    expect(regexp("(?P<a>x)\\Q(?P<a>\\E(?P<a>y)").group("x(?P<a>y", 2)).toBe("y");
    expect(outcome(() => regexp("(?P<a>x)(?P<a>y"))).toMatchObject({
      code: "Config",
      message: expect.stringContaining("missing closing )"),
    });
  });

  test.each([
    ["(?P<name>a)"],
    ["\\(?<"],
    ["[(?<]"],
    ["[](?<]"],
    ["[^](?<]"],
    ["[[:alpha:](?<]"],
    ["\\Q(?<\\E"],
    ["\\\\Q[(?<]"],
  ])("%s has no group with an angle and compiles", (pattern) => {
    expect(outcome(() => regexp(pattern))).not.toBeInstanceOf(Error);
  });

  test.each(["\\[(?<a>b)", "[\\](](?<a>b)", "\\Qx\\E(?<a>b)", "a(?<a>b)"])("%s has one", (pattern) => {
    expect(outcome(() => regexp(pattern))).toMatchObject({ code: "Config" });
  });

  test("a byte of invalid UTF-8 matches U+FFFD, and is retained", () => {
    expect(regexp(".").group("\udcff", 0)).toBe("\udcff");
    expect(regexp("\\x{fffd}+").group("a\udcff\udc80b", 0)).toBe("\udcff\udc80");
    expect(regexp("[^\\x{fffd}]").test("\udcff")).toBe(false);
  });

  // A backtracking engine would not end.
  test("(a+)+$ on 100 kB", () => {
    const text = `${"a".repeat(100_000)}!`;
    expect(regexp("(a+)+$").group(text, 0)).toBeUndefined();
    expect(regexp("(a+)+$").test(text)).toBe(false);
  });

  test("a match that would take seconds is rejected", () => {
    const hostile = regexp("(?:x?y?){1000}(?:x?y?){1000}(?:x?y?){1000}$");
    const text = "xy".repeat(50_000);
    expect(outcome(() => hostile.group(text, 0))).toMatchObject({ code: "Limit" });
    expect(outcome(() => hostile.test(text))).toMatchObject({ code: "Limit" });
    expect(hostile.test("xy")).toBe(true);
  });

  test("patterns are bounded in length and in program size", () => {
    expect(outcome(() => regexp("a".repeat(5000)))).toMatchObject({ code: "Config" });
    expect(outcome(() => regexp("(\\pL\\PL){500}".repeat(100)))).toMatchObject({ code: "Config" });
    expect(outcome(() => regexp(`(${"ab".repeat(500)}){1000}`))).toMatchObject({ code: "Config" });
    expect(outcome(() => regexp("\\pL{1000}".repeat(10)))).not.toBeInstanceOf(Error);
  });

  test("messages quote a pattern only in part", () => {
    const error = outcome(() => regexp(`(${"a".repeat(4000)}`));
    expect((error as Error).message.length).toBeLessThan(500);
  });
});
