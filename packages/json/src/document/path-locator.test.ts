import { expect, test } from "vitest";
import { unwrapLists } from "./lists.ts";
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

test.each<[form: string, text: string, count: number]>([
  ["documents of a stream", "a: {b: 1}\n---\n".repeat(100_000), 100_000],
  ["items of a list in YAML", `kind: List\nitems:\n${"- a: {b: 1}\n".repeat(20_000)}`, 20_000],
  ["items of a list in JSON", `{"kind":"List","items":[${`{"a":{"b":1}},\n`.repeat(20_000)}{}]}`, 20_001],
])("the positions of many %s are found in linear time", (_form, text, count) => {
  // A walk from the start of the text for each of them would take minutes.
  const documents = unwrapLists(readDocuments(text));
  const lines = documents.map((document) => document.positionOf(["a", "b"])?.line);
  expect(lines).toHaveLength(count);
  expect(lines.slice(0, 2)).toEqual([lines[0], (lines[0] ?? 0) + (count === 100_000 ? 2 : 1)]);
  expect(lines[count - 2]).toBeGreaterThan(count - 2);
});

test("the texts of many booleans are found in linear time", () => {
  const text = `kind: List\nitems:\n${"- {a: y, b: 'y', c: [off], d: 1}\n".repeat(20_000)}`;
  const documents = unwrapLists(readDocuments(text));
  const paths = [["a"], ["b"], ["c", 0], ["d"], ["e"]];
  const words = documents.map((document) => paths.map((path) => document.unquotedAt?.(path)));
  expect(words[19_999]).toEqual(["y", undefined, "off", undefined, undefined]);
  expect(words.every(([word]) => word === "y")).toBe(true);
});
