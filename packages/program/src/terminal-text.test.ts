import { expect, test } from "vitest";
import { escapeControls, MAX_LINE_LENGTH, oneLine } from "./terminal-text.ts";

test("shows terminal escapes instead of sending them", () => {
  expect(escapeControls("\u001b[2J\u001b]0;owned\u0007")).toBe("\\x1b[2J\\x1b]0;owned\\x07");
  expect(escapeControls("\u009b31m")).toBe("\\x9b31m");
});

test("shows carriage returns, which would overwrite the line", () => {
  expect(escapeControls("fine\rERROR")).toBe("fine\\x0dERROR");
});

test("shows bidirectional overrides and line separators", () => {
  expect(escapeControls("a\u202eb\u2028c")).toBe("a\\u202eb\\u2028c");
});

test("keeps tabs, line feeds and ordinary text of any script", () => {
  expect(escapeControls("a\tb\nüñí 数据 🙂")).toBe("a\tb\nüñí 数据 🙂");
});

test("one line holds no line feed and is bounded", () => {
  expect(oneLine("first\n  second\r\nthird\n")).toBe("first second third");
  const [long, cut] = [oneLine("x".repeat(MAX_LINE_LENGTH)), oneLine("x".repeat(MAX_LINE_LENGTH + 1))];
  expect([long, cut]).toEqual(["x".repeat(MAX_LINE_LENGTH), `${"x".repeat(MAX_LINE_LENGTH)}...`]);
  expect(oneLine("abc", 2)).toBe("ab...");
});

test("one line of many spaces is made in linear time", () => {
  const spaces = " ".repeat(2_000_000);
  expect(oneLine(`a${spaces}b`)).toHaveLength(MAX_LINE_LENGTH + 3);
  expect(oneLine(`a${"\n \r\n".repeat(400_000)}b`)).toBe("a b");
});
