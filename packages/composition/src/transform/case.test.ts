import { expect, test } from "vitest";
import { lowerCase, upperCase } from "./case.ts";

// strings.ToUpper and ToLower of Go 1.26.8.
test.each([
  ["abcXYZ", "ABCXYZ"],
  ["straße", "STRAßE"],
  ["ﬁ ŉ ǆ", "ﬁ ŉ Ǆ"],
  ["ᾀᾗᾳῃῳ", "ᾈᾟᾼῌῼ"],
  ["ıİ", "Iİ"],
  ["ÿµ", "ŸΜ"],
  ["𐐨", "𐐀"],
  ["a\udcff", "A\ufffd"],
])("%s in upper case", (text, upper) => {
  expect(upperCase(text)).toBe(upper);
});

test.each([
  ["abcXYZ", "abcxyz"],
  ["ΟΔΥΣΣΕΥΣ", "οδυσσευσ"],
  ["İI", "ii"],
  ["ẞ", "ß"],
  ["𐐀", "𐐨"],
  ["\udc80A", "\ufffda"],
])("%s in lower case", (text, lower) => {
  expect(lowerCase(text)).toBe(lower);
});
