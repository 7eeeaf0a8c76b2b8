import { expect, test } from "vitest";
import { lineDifference } from "./line-difference.ts";

const lines = (...texts: (string | number)[]): string => `${texts.join("\n")}\n`;
const count = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);

test("equal texts have no difference", () => {
  expect(lineDifference(lines("a"), lines("a"))).toBe("");
});

test("a changed line is shown with three lines around it and its position", () => {
  const before = lines(...count(1, 20));
  const after = lines(...count(1, 9), "ten", ...count(11, 20));
  expect(lineDifference(before, after)).toBe(
    lines("@@ -7 +7 @@", " 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13"),
  );
});

test("changes that are far apart are separate, and positions count in both texts", () => {
  const before = lines(...count(1, 30));
  const after = lines("zero", ...count(1, 24), ...count(26, 30));
  expect(lineDifference(before, after)).toBe(
    lines("@@ -1 +1 @@", "+zero", " 1", " 2", " 3", "@@ -22 +23 @@", " 22", " 23", " 24", "-25", " 26", " 27", " 28"),
  );
});

test("texts with many changes are shown as removed and added", () => {
  const difference = lineDifference(lines(...count(1, 5000)), lines("a"));
  expect(difference.split("\n")).toHaveLength(1 + 5000 + 1 + 1);
});

test("colours apply to whole lines", () => {
  const paint = { removed: (line: string) => `<${line}>`, added: (line: string) => `[${line}]`, title: () => "title" };
  expect(lineDifference("a\n", "b\n", paint)).toBe("title\n<-a>\n[+b]\n");
});
