import { expect, test } from "vitest";
import { safeForTerminal } from "./safe-for-terminal.ts";

test.each([
  ["\u001b]0;owned\u0007", "\\x1b]0;owned\\x07"],
  ["\u001b[6n", "\\x1b[6n"],
  ["fine\rERROR", "fine\\x0dERROR"],
  ["a\u202eb", "a\\u202eb"],
  ["\u001b[31mred\u001b[39m", "\u001b[31mred\u001b[39m"],
  ["a\tb\nüñí 数据 🙂", "a\tb\nüñí 数据 🙂"],
])("%j", (text, expected) => {
  expect(safeForTerminal(text)).toBe(expected);
});
