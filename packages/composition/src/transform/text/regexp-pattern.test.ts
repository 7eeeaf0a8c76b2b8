import { describe, expect, test } from "vitest";
import { inspectPattern, unnameDuplicateGroups } from "./regexp-pattern.ts";

describe("inspectPattern", () => {
  test.each([
    ["", 0],
    ["abc", 3],
    ["a*", 2],
    ["\\d\\pL\\p{Greek}\\x{1F600}", 4],
    ["[a-z\\]][[:alpha:]x]", 2],
    ["a{3}", 3],
    ["a{2,5}", 5],
    ["a{2,}", 3],
    ["(ab){10}", 40],
    ["((ab){10}c){10}", 430],
    ["(?:a|b)(?P<n>c){2}", 11],
    ["\\Qa{9}\\E", 8],
    ["[{9}]\\{9}", 4],
    ["a{x}", 4],
    ["((((", 0],
    ["))))", 8],
  ])("%j has a size of about %i", (pattern, size) => {
    expect(inspectPattern(pattern).size).toBe(size);
  });
});

test("a later group of the same name has none, in both spellings", () => {
  const names = "(?P<a>x)(?<a>y)(?P<b>z)(?P<a>[(?P<a>])";
  expect(unnameDuplicateGroups(names)).toBe("(?P<a>x)(y)(?P<b>z)([(?P<a>])");
  expect(unnameDuplicateGroups("(?<=a)(?<!a)\\(?P<a>")).toBe("(?<=a)(?<!a)\\(?P<a>");
});
