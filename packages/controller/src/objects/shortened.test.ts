import { expect, test } from "vitest";
import { shortened } from "./shortened.ts";

test.each([
  ["short enough", "abcdefgh", "abcdefgh"],
  ["too long", "abcdefghi", "abcde..."],
  ["with an emoji at the cut, which is left out as a whole", "abcd\u{1F600}efgh", "abcd..."],
  ["with an emoji before the cut", "abc\u{1F600}efghi", "abc\u{1F600}..."],
])("a text %s", (_, text, expected) => {
  expect(shortened(text, 8)).toBe(expected);
});

test("control characters are escaped before the text is cut", () => {
  expect(shortened("\u001b[31mred", 99)).toBe("\\x1b[31mred");
  expect(shortened("a\u202eb\n", 99)).toBe("a\\u202eb\n");
  expect(shortened("\u001b\u001b\u001b", 8)).toBe("\\x1b\\...");
});
