import type { JsonObject, JsonValue } from "@xfn/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { printGoJson } from "../values/go-json.ts";
import { Float64, type GoValue } from "../values/go-value.ts";
import { documentValue } from "./value.ts";

describe("documentValue", () => {
  test.each<[GoValue, JsonValue]>([
    [new Float64(4), 4],
    [new Float64(-0), 0],
    [2.5, 2.5],
    [2 ** 53, 9007199254740992n],
    [2 ** 62, 4611686018427388000n],
    [1e20, 1e20],
    [1e300, 1e300],
    [7n, 7],
    [9007199254740993n, 9007199254740993n],
    ["broken \udc80 text", "broken \ufffd text"],
    [null, null],
    [true, true],
  ])("%o is written as %o", (value, written) => {
    expect(documentValue(value)).toBe(written);
    expect(documentValue([value as JsonValue])).toEqual([written]);
  });

  test("objects are copied deeply, without prototypes, and keys are data", () => {
    const value = JSON.parse('{"a":[{"b":1}],"__proto__":{"polluted":true},"k\\udc80":2}') as JsonObject;
    const copy = documentValue(value) as JsonObject;
    expect(Object.getPrototypeOf(copy)).toBeNull();
    expect(Object.keys(copy)).toEqual(["a", "__proto__", "k\ufffd"]);
    expect(JSON.stringify(copy["a"])).toBe('[{"b":1}]');
    expect(copy["a"]).not.toBe(value["a"]);
    expect("polluted" in {}).toBe(false);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "%d is not JSON, at any depth",
    (value) => {
      for (const hidden of [value, [value], { a: [{ b: value }] }]) {
        expect(() => documentValue(hidden)).toThrow(expect.objectContaining({ code: "InvalidValue" }));
      }
    },
  );

  test("depth: an error, not a stack overflow", () => {
    let deep: JsonValue = [];
    for (let level = 0; level < 100_000; level++) deep = level % 2 === 0 ? [deep] : { a: deep };
    expect(() => documentValue(deep)).toThrow(expect.objectContaining({ code: "InvalidValue" }));
  });

  test("size: copying a value of many shared parts is bounded", () => {
    let value: JsonValue = ["x"];
    for (let level = 0; level < 30; level++) value = [value, value];
    expect(() => documentValue(value)).toThrow(expect.objectContaining({ code: "InvalidValue" }));
  });

  test("a copy equals the value after JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(printGoJson(documentValue(value as JsonValue))).toBe(printGoJson(value as JsonValue));
      }),
    );
  });
});
