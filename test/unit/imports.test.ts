import { expect, test } from "vitest";
import { importsOf, packageOf } from "./imports.ts";

test("importsOf finds every kind of import, and ignores similar text", () => {
  const found = importsOf("test/unit/testdata/every-kind.ts").map(({ specifier }) => specifier);
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
