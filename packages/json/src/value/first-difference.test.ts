import { expect, test } from "vitest";
import { firstDifference } from "./first-difference.ts";
import type { JsonPath, JsonValue } from "./json-value.ts";
import { sameJson } from "./same-json.ts";

test.each<[string, JsonValue, JsonValue]>([
  ["the order of keys", { a: 1, b: [2] }, { b: [2], a: 1 }],
  ["the type of an integer", { a: 1 }, { a: 1n }],
  ["prototypes", { a: 1 }, Object.setPrototypeOf({ a: 1 }, null) as JsonValue],
])("%s makes no difference", (_, left, right) => {
  expect(firstDifference(left, right)).toBeUndefined();
  expect(sameJson(left, right)).toBe(true);
});

test.each<[JsonValue | undefined, JsonValue | undefined, JsonPath]>([
  [{ a: { b: [1, 2] } }, { a: { b: [1, 3] } }, ["a", "b", 1]],
  [{ a: 1 }, { a: 1, b: null }, ["b"]],
  [{ a: 1, b: null }, { a: 1 }, ["b"]],
  [{ a: [] }, { a: {} }, ["a"]],
  [null, undefined, []],
  // Every object inherits this name.
  [{}, { constructor: "x" }, ["constructor"]],
  [{ constructor: "x" }, {}, ["constructor"]],
])("%j and %j differ at %j", (left, right, path) => {
  expect(firstDifference(left, right)).toEqual(path);
  expect(sameJson(left, right)).toBe(false);
});
