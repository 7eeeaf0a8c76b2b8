import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "./json-value.ts";
import { isPatched, mergePatch } from "./merge-patch.ts";

test.each<[has: JsonObject, wanted: JsonObject, patch: JsonObject | undefined]>([
  [{ a: 1, b: { c: [1] } }, { b: { c: [1] }, a: 1 }, undefined],
  [{ a: 1 }, { a: 2 }, { a: 2 }],
  [{ a: 1, b: 2 }, { b: 2 }, { a: null }],
  [{}, { a: { b: 1 } }, { a: { b: 1 } }],
  [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
  [{ a: { b: 1 } }, { a: {} }, { a: { b: null } }],
  [{ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, { a: [{ b: 2 }] }],
  [{ a: { b: 1 } }, { a: 1 }, { a: 1 }],
  [{ a: 9007199254740993n }, { a: 9007199254740993n }, undefined],
  [{ a: 9007199254740993n }, { a: 9007199254740992n }, { a: 9007199254740992n }],
])("%o becomes %o by %o", (has, wanted, patch) => {
  expect(mergePatch(has, wanted)).toEqual(patch);
});

test("a field named __proto__ is data", () => {
  const wanted = JSON.parse('{"__proto__":{"a":1}}') as JsonObject;
  const patch = mergePatch({}, wanted) ?? {};
  expect(Object.hasOwn(patch, "__proto__")).toBe(true);
  expect(Object.hasOwn(Object.prototype, "a")).toBe(false);
});

test.each<[has: JsonValue | undefined, patch: JsonValue, expected: boolean]>([
  [{ a: 1, b: 2 }, { a: 1 }, true],
  [{ a: 1 }, { a: 2 }, false],
  [{ a: { b: 1 } }, { a: { c: null } }, true],
  [{ a: { b: 1 } }, { a: { b: null } }, false],
  [{ a: [1, 2] }, { a: [1] }, false],
  [undefined, { a: null }, false],
  [{}, { toString: null }, true],
])("%j is as the patch %j would leave it: %s", (has, patch, expected) => {
  expect(isPatched(has, patch)).toBe(expected);
});
