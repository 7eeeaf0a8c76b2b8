import { describe, expect, test } from "vitest";
import { asDouble, asInt64, Float64, float64, type GoKind, type GoValue, goKind, int64, isInt64 } from "./go-value.ts";

test.each<[GoValue, GoKind]>([
  [null, "null"],
  [false, "bool"],
  ["", "string"],
  [0, "int64"],
  [-9007199254740991, "int64"],
  [9007199254740993n, "int64"],
  [9223372036854775807n, "int64"],
  [9223372036854775808n, "float64"],
  [2.5, "float64"],
  [2 ** 53, "float64"],
  [Number.NaN, "float64"],
  [new Float64(2), "float64"],
  [[], "array"],
  [{}, "object"],
])("goKind of %o is %s", (value, kind) => {
  expect(goKind(value)).toBe(kind);
});

describe("float64", () => {
  test("boxes only values that would count as an int64", () => {
    expect(float64(2)).toEqual(new Float64(2));
    expect(float64(2.5)).toBe(2.5);
    expect(float64(1e300)).toBe(1e300);
    expect(goKind(float64(-0))).toBe("float64");
  });

  test("a boxed number prints as a number", () => {
    expect(JSON.stringify({ n: new Float64(2) })).toBe('{"n":2}');
  });
});

test("int64 has one form for each integer", () => {
  expect(int64(5n)).toBe(5);
  expect(int64(-9007199254740991n)).toBe(-9007199254740991);
  expect(int64(9007199254740992n)).toBe(9007199254740992n);
});

test("isInt64 includes the ends of the range", () => {
  expect([-(2n ** 63n), 2n ** 63n - 1n].every(isInt64)).toBe(true);
  expect([-(2n ** 63n) - 1n, 2n ** 63n].some(isInt64)).toBe(false);
});

test("all forms of numbers convert to bigint and to double", () => {
  expect([asInt64(7), asInt64(9007199254740993n)]).toEqual([7n, 9007199254740993n]);
  expect([asDouble(7), asDouble(2.5), asDouble(new Float64(3)), asDouble(9007199254740993n)]).toEqual([
    7, 2.5, 3, 9007199254740992,
  ]);
});
