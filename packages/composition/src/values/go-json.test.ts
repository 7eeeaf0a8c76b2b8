import { describe, expect, test } from "vitest";
import { compareUtf8, GoJsonError, printGoJson } from "./go-json.ts";
import { Float64 } from "./go-value.ts";

describe("printGoJson", () => {
  test.each<[Parameters<typeof printGoJson>[0], string]>([
    [null, "null"],
    [true, "true"],
    [1.5, "1.5"],
    [1e21, "1e+21"],
    [1e-7, "1e-7"],
    ["\u2028\u2029", '"\\u2028\\u2029"'],
    ["\b\f\n\t", '"\\u0008\\u000c\\n\\t"'],
    ["\\b\\f", '"\\\\b\\\\f"'],
    ['"<\\>', '"\\"\\u003c\\\\\\u003e"'],
    ["\ud800", '"\ufffd"'],
    ["broken \udc80\udcff UTF-8", '"broken \\ufffd\\ufffd UTF-8"'],
    ["😀\u007f", '"😀\u007f"'],
    [new Float64(4), "4"],
    [new Float64(-0), "-0"],
    [-0, "0"],
    [1e20, "100000000000000000000"],
    [0.000001, "0.000001"],
    [18446744073709551616n, "18446744073709552000"],
    [{ b: [], a: {} }, '{"a":{},"b":[]}'],
  ])("%o", (value, text) => {
    expect(printGoJson(value)).toBe(text);
  });

  test("integers beyond 2^53 are exact", () => {
    expect(printGoJson([9007199254740993n])).toBe("[9007199254740993]");
  });

  test("keys are sorted by their UTF-8, unlike JavaScript's strings", () => {
    expect(printGoJson({ "😀": 1, "\uff5e": 2, b: 3, a: 4, "": 5 })).toBe('{"":5,"a":4,"b":3,"\uff5e":2,"😀":1}');
    expect(["😀", "\uff5e", "é", "ab", "a"].toSorted(compareUtf8)).toEqual(["a", "ab", "é", "\uff5e", "😀"]);
  });

  test("keys such as __proto__ are data", () => {
    expect(printGoJson(JSON.parse('{"constructor":1,"__proto__":{"x":2}}'))).toBe(
      '{"__proto__":{"x":2},"constructor":1}',
    );
  });

  test("a value that JSON cannot represent is an error", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => printGoJson([value])).toThrow(expect.objectContaining({ code: "NotFinite" }));
    }
  });

  test("depth: an error, not a stack overflow", () => {
    let deep: string[] = [];
    for (let level = 0; level < 100_000; level++) deep = [deep as unknown as string];
    expect(() => printGoJson(deep)).toThrow(GoJsonError);
  });
});
