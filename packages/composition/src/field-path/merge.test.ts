import type { JsonObject, JsonValue } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { Float64, type GoValue } from "../values/go-value.ts";
import { parseFieldPath } from "./field-path.ts";
import { type MergeOptions, mergeFieldPath } from "./merge.ts";

const keep: MergeOptions = { keepMapValues: true };
const append: MergeOptions = { appendSlice: true };
const both: MergeOptions = { ...keep, ...append };

function merge(there: string | undefined, value: GoValue, options: MergeOptions | undefined): string {
  const object: JsonObject = there === undefined ? {} : (JSON.parse(`{"a":${there}}`) as JsonObject);
  mergeFieldPath(object, ["a"], value, options);
  return JSON.stringify(object["a"]);
}

describe("mergeFieldPath", () => {
  test("without options the value replaces the existing one", () => {
    expect(merge('{"x":1}', { y: 2 }, undefined)).toBe('{"y":2}');
    expect(merge("[1]", [2], undefined)).toBe("[2]");
  });

  test.each<[there: string | undefined, value: JsonValue, options: MergeOptions, merged: string]>([
    ['{"x":1,"m":{"p":1}}', { m: { q: 2 }, y: 3 }, {}, '{"x":1,"m":{"p":1,"q":2},"y":3}'],
    ['{"x":1,"z":2}', { x: null, z: "" }, {}, '{"x":null,"z":""}'],
    ['{"x":{"p":1}}', { x: {} }, {}, '{"x":{"p":1}}'],
    ['{"x":1}', {}, {}, '{"x":1}'],
    ['{"x":[1,2]}', { x: [3] }, {}, '{"x":[3]}'],
    ['{"x":[1]}', { x: {} }, {}, '{"x":{}}'],
    ["1", { x: 1 }, {}, '{"x":1}'],
    [undefined, { x: [1] }, {}, '{"x":[1]}'],
    ["null", { x: null }, keep, '{"x":null}'],
    ['{"x":1}', null, keep, "null"],
    ['{"x":1,"m":{"p":1}}', { x: 2, m: { p: 2, q: 3 }, y: 4 }, keep, '{"x":1,"m":{"p":1,"q":3},"y":4}'],
    [
      '{"e":"","z":0,"f":false,"n":null,"l":[],"o":{}}',
      { e: "s", z: 1, f: true, n: 2, l: [3], o: { k: 4 } },
      keep,
      '{"e":"s","z":1,"f":true,"n":2,"l":[3],"o":{"k":4}}',
    ],
    ['{"x":1}', { x: null, y: null }, keep, '{"x":1}'],
    ['{"o":{}}', { o: { k: null } }, keep, '{"o":{"k":null}}'],
    ['"old"', "new", keep, '"old"'],
    ["[1]", { x: 1 }, keep, "[1]"],
    ['["a","b"]', ["b", "c", "c"], append, '["a","b","c","c"]'],
    ['{"l":["a"]}', { l: ["a", "b"] }, append, '{"l":["a","a","b"]}'],
    ['{"l":["a"]}', { l: ["b"], m: ["c"] }, both, '{"l":["a","b"],"m":["c"]}'],
    ['[{"k":1,"l":[1]}]', [{ l: [1], k: 1 }, { k: 2 }], append, '[{"k":1,"l":[1]},{"k":2}]'],
    ["[1,2]", [1, 2], append, "[1,2]"],
    ["[]", [], append, "null"],
    ["[]", [1], append, "[1]"],
    [undefined, [], append, "[]"],
    ['"s"', 5, append, "5"],
  ])("%s merged with %j, %j, is %s", (there, value, options, merged) => {
    expect(merge(there, value, options)).toBe(merged);
  });

  test("a list is appended to lists only; on error the object is unchanged", () => {
    for (const there of ['{"l":{"x":1}}', '{"l":"s"}', '{"l":""}']) {
      const object: JsonObject = { a: JSON.parse(there) as JsonObject };
      expect(() => mergeFieldPath(object, ["a"], { new: 1, l: [1] }, append)).toThrow(
        expect.objectContaining({ code: "CannotMerge" }),
      );
      expect(JSON.stringify(object["a"])).toBe(there);
    }
  });

  test("an int64 and a float64 are different items, although both print as 1", () => {
    expect(merge("[1]", [new Float64(1)] as unknown as JsonValue, append)).toBe("[1,1]");
  });

  test("a path through a scalar is an error, with and without options", () => {
    for (const options of [{}, undefined]) {
      expect(() => mergeFieldPath({ s: "x" }, parseFieldPath("s.y"), 1, options)).toThrow(
        expect.objectContaining({ code: "WrongType" }),
      );
    }
  });

  test("merging shares nothing with the value, and does not change it", () => {
    const value = { m: { list: [1] } };
    const object: JsonObject = { a: { m: { list: [0], x: 1 } } };
    mergeFieldPath(object, ["a"], value, append);
    mergeFieldPath(object, ["a"], { m: { list: [2] } }, append);
    expect(JSON.stringify([value, object])).toBe('[{"m":{"list":[1]}},{"a":{"m":{"list":[0,1,2],"x":1}}}]');
  });

  test("prototype: __proto__ is merged as data", () => {
    const object = JSON.parse('{"a":{"__proto__":{"x":1}}}') as JsonObject;
    mergeFieldPath(
      object,
      ["a"],
      JSON.parse('{"__proto__":{"polluted":true},"constructor":{"y":2}}') as JsonObject,
      {},
    );
    expect(JSON.stringify(object)).toBe('{"a":{"__proto__":{"x":1,"polluted":true},"constructor":{"y":2}}}');
    expect("polluted" in {}).toBe(false);
  });

  test("depth: an error, not a stack overflow", () => {
    const deep = (): JsonObject => {
      let value: JsonObject = {};
      for (let level = 0; level < 100_000; level++) value = { a: value };
      return value;
    };
    for (const options of [{}, append, keep]) {
      expect(() => mergeFieldPath({ a: deep() }, ["a"], deep(), options)).toThrow(
        expect.objectContaining({ code: "InvalidValue" }),
      );
      expect(() => mergeFieldPath({ a: [deep()] }, ["a"], [deep()], options)).toThrow(
        expect.objectContaining({ code: "InvalidValue" }),
      );
    }
  });

  test("lists of many objects are compared in linear time", () => {
    const items = Array.from({ length: 20_000 }, (_, index) => ({ id: index, tags: ["x"] }));
    const object: JsonObject = { a: structuredClone(items) };
    mergeFieldPath(object, ["a"], [...items, { id: -1 }], append);
    expect(object["a"]).toHaveLength(20_001);
  });
});
