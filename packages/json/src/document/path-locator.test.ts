import { expect, test } from "vitest";
import { readDocuments } from "./read.ts";

const yaml = `a:
  b: 1
  list:
  - x: 1
  - y: {z: 2}
---
a: {b: 3}
`;

test("the positions of many paths equal those of each path alone", () => {
  const texts = [yaml, '{\n "a": {"b": 1,\n  "list": [{"x": 1}, {"y": {"z": 2}}]}\n}'];
  const paths = [
    [],
    ["a"],
    ["a", "b"],
    ["a", "list", 1, "y", "z"],
    ["a", "list", 7],
    ["a", "nope", "x"],
    ["a", "list", "1"],
  ];
  for (const text of texts) {
    for (const document of readDocuments(text)) {
      expect(document.positionsOf?.(paths)).toEqual(paths.map((path) => document.positionOf(path)));
    }
  }
});

test("a missing value has the position of its nearest ancestor, and a field that of its key", () => {
  const [first, second] = readDocuments(yaml);
  expect(first?.positionsOf?.([["a", "b"], ["a", "b", "x"], ["a", "list", 1, "y", "z"], ["nope"]])).toEqual([
    { line: 2, column: 3 },
    { line: 2, column: 3 },
    { line: 5, column: 9 },
    { line: 1, column: 1 },
  ]);
  expect(second?.positionsOf?.([["a", "b"]])).toEqual([{ line: 7, column: 5 }]);
});
