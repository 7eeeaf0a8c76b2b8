import { expect, test } from "vitest";
import { matchesPattern } from "./match-pattern.ts";

test.each([
  ["*", "buckets.s3.aws.example.org", true],
  ["*.aws.example.org", "buckets.s3.aws.example.org", true],
  ["*.aws.example.org", "buckets.gcp.example.org", false],
  ["buckets.*.example.org", "buckets.s3.aws.example.org", true],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["[a-c]x", "bx", true],
  ["[a-c]x", "dx", false],
  ["[^a-c]x", "dx", true],
  ["[^a-c]x", "ax", false],
  ["[ad]x", "dx", true],
  ["a\\*c", "a*c", true],
  ["a\\*c", "abc", false],
  ["*a*b", "xxaxxab", true],
  ["*ab", "aab", true],
  ["a*", "a", true],
  ["", "", true],
  ["a", "ab", false],
])("%s and %s: %s", (pattern, name, matches) => {
  expect(matchesPattern(pattern, name)).toBe(matches);
});

test.each(["[", "[a", "[a-", "a\\", "[^"])("the pattern %s is not complete", (pattern) => {
  expect(() => matchesPattern(pattern, "a")).toThrow(SyntaxError);
});

test("a pattern with many stars takes no more steps than its length times that of the name", () => {
  expect(matchesPattern(`${"*a".repeat(128)}*b`, "a".repeat(250))).toBe(false);
});
