import { expect, test } from "vitest";
import { circlesIn, importsOf, packageOf } from "./imports.ts";

test("importsOf finds every kind of import, and ignores similar text", () => {
  const found = importsOf("test/check/testdata/every-kind.ts").map(({ specifier }) => specifier);
  expect(found.toSorted()).toEqual([
    "./all.ts",
    "@scope/named/entry",
    "dynamic",
    "re-exported",
    "side-effect",
    "type-only",
    "type-query",
  ]);
});

test.each([
  ["@scope/name/entry", "@scope/name"],
  ["name/entry", "name"],
  ["node:fs", undefined],
  ["fs/promises", undefined],
])("packageOf(%s) is %s", (specifier, name) => {
  expect(packageOf(specifier)).toBe(name);
});

test("a circle is found once, by its shortest way", () => {
  const graph = (edges: Record<string, string[]>): Map<string, Set<string>> =>
    new Map(Object.entries(edges).map(([from, to]) => [from, new Set(to)]));
  expect(circlesIn(graph({ a: ["b", "c"], b: ["c"], c: ["d"] }))).toEqual([]);
  expect(circlesIn(graph({ a: ["b"], b: ["c"], c: ["a", "b"] }))).toEqual(["a -> b -> c -> a", "c -> b -> c"]);
});
