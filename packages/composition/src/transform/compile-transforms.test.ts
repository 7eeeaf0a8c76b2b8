import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Transform } from "../api/template.ts";
import { Float64, float64, type GoValue } from "../values/go-value.ts";
import { compileTransforms } from "./compile-transforms.ts";
import { TransformError } from "./text/transform-error.ts";

const numRuns = Number(process.env["XFN_FUZZ_RUNS"] ?? 200);

/** Unchecked transforms. */
const run = (input: GoValue, ...transforms: unknown[]): GoValue => compileTransforms(transforms as Transform[])(input);

function outcome(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

describe("compileTransforms", () => {
  test("without transforms the input is the output", () => {
    const input = { a: 1 };
    expect(compileTransforms(undefined)(input)).toBe(input);
    expect(compileTransforms([])(input)).toBe(input);
  });

  test("runs them in order", () => {
    const multiply = { type: "math", math: { multiply: 2 } };
    const text = { type: "convert", convert: { toType: "string" } };
    const format = { type: "string", string: { fmt: "%s!" } };
    expect(run(4, multiply)).toBe(8);
    expect(run(4, multiply, text)).toBe("8");
    expect(run(4, multiply, text, format)).toBe("8!");
  });

  test.each([
    ["no type", { math: { multiply: 2 } }],
    ["an unknown type", { type: "Math", math: { multiply: 2 } }],
    ["no configuration", { type: "math" }],
    ["the configuration of another type", { type: "math", string: { fmt: "%s" } }],
    ["null for a configuration", { type: "map", map: null }],
    ["null", null],
    ["a text", "map"],
  ])("%s fails when it runs, not before", (_, transform) => {
    const compiled = compileTransforms([{ type: "convert", convert: { toType: "int64" } }, transform as Transform]);
    expect(outcome(() => compiled(3))).toMatchObject({
      name: "TransformError",
      code: "Config",
      index: 1,
      retryable: false,
    });
  });

  test("a value that is not a list fails when it runs", () => {
    const compiled = compileTransforms({} as Transform[]);
    expect(outcome(() => compiled(3))).toMatchObject({ code: "Config", index: undefined });
  });

  test("a failing transform hides a wrong one after it", () => {
    const error = outcome(() => run("x", { type: "map", map: { a: 1 } }, { type: "nonsense" }));
    expect(error).toMatchObject({ code: "Input", index: 0 });
  });

  test.each([
    ["map", { type: "map", map: { a: 1 } }],
    ["int", { type: "convert", convert: { toType: "int64" } }],
    ["bool", { type: "convert", convert: { toType: "bool" } }],
    ["float", { type: "convert", convert: { toType: "float64" } }],
    ["quantity", { type: "convert", convert: { toType: "float64", format: "quantity" } }],
    ["json", { type: "convert", convert: { toType: "object", format: "json" } }],
    ["math", { type: "math", math: { multiply: 2 } }],
    ["base64", { type: "string", string: { type: "Convert", convert: "FromBase64" } }],
    ["regexp", { type: "string", string: { type: "Regexp", regexp: { match: "^$" } } }],
    ["join", { type: "string", string: { type: "Join", join: { separator: "," } } }],
  ])("messages never show the value: %s", (_, transform) => {
    const error = outcome(() => run("hunter2-secret", transform));
    expect(error).toBeInstanceOf(TransformError);
    expect((error as Error).message).not.toContain("hunter2");
  });

  test("doubling a text is bounded", () => {
    const double = { type: "string", string: { type: "Format", fmt: "%s%[1]s" } };
    expect(outcome(() => run("ab", ...Array.from({ length: 60 }, () => double)))).toMatchObject({ code: "Limit" });
    const quote = { type: "string", string: { type: "Convert", convert: "ToJson" } };
    expect(outcome(() => run('"\\', ...Array.from({ length: 60 }, () => quote)))).toMatchObject({ code: "Limit" });
  });
});

describe("map", () => {
  const map = JSON.parse(
    '{"us": "us-east-1", "n": 7, "big": 9007199254740993, "o": {"n": 3, "l": [1, 2.5, null]}, "nil": null, "__proto__": "p"}',
  ) as object;
  const transform = { type: "map", map };

  test("names the key that it lacks, and those that it has", () => {
    const map = { eu: 1, "us-east-1": 2 };
    const error = outcome(() => run("us-west-9", { type: "map", map })) as TransformError;
    expect(error.message).toContain('no such key; it has "eu", "us-east-1"');
    expect(error.key).toBe("us-west-9");
  });

  test("returns the key's value, with numbers as float64", () => {
    expect(run("us", transform)).toBe("us-east-1");
    expect(run("n", transform)).toEqual(new Float64(7));
    expect(run("o", transform)).toEqual({ n: new Float64(3), l: [new Float64(1), 2.5, null] });
  });

  test("integers beyond 2^53 lose precision, as in Go", () => {
    expect(run("big", { type: "map", map: { big: 9007199254740993n } })).toBe(9007199254740992);
  });

  test("keys such as __proto__ are data, and nothing is inherited", () => {
    expect(run("__proto__", transform)).toBe("p");
    for (const key of ["constructor", "toString", "hasOwnProperty"]) {
      expect(outcome(() => run(key, transform))).toMatchObject({ code: "Input" });
    }
  });

  test("accepts strings only", () => {
    for (const input of [1, true, null, {}, []])
      expect(outcome(() => run(input, transform))).toMatchObject({ code: "Input" });
  });

  test("a key without a value is an error", () => {
    expect(outcome(() => run("nil", transform))).toMatchObject({ code: "Config" });
  });

  test("results are frozen, because all runs share them", () => {
    const result = run("o", transform) as { l: unknown };
    expect(Object.isFrozen(result) && Object.isFrozen(result.l)).toBe(true);
  });

  test("an endlessly nested value fails when it is used", () => {
    let deep: unknown = [];
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const compiled = compileTransforms([{ type: "map", map: { a: deep } } as unknown as Transform]);
    expect(outcome(() => compiled("a"))).toMatchObject({ code: "Limit" });
  });
});

describe("match", () => {
  const literal = (value: unknown, result: unknown): object => ({ type: "literal", literal: value, result });
  const regexp = (value: unknown, result: unknown): object => ({ type: "regexp", regexp: value, result });
  const match = (fields: object): object => ({ type: "match", match: fields });

  test("the first matching pattern gives the result", () => {
    const transform = match({ patterns: [literal("foo", 1), regexp("^f", { a: 2 }), regexp("", "any")] });
    expect(run("foo", transform)).toEqual(new Float64(1));
    expect(run("food", transform)).toEqual({ a: new Float64(2) });
    expect(run("bar", transform)).toBe("any");
  });

  test("a wrong pattern fails only if no earlier one matches", () => {
    const compiled = compileTransforms([match({ patterns: [literal("a", "A"), regexp("(", "B")] }) as Transform]);
    expect(compiled("a")).toBe("A");
    expect(outcome(() => compiled("b"))).toMatchObject({ code: "Config" });
    expect(outcome(() => compiled("b"))).toMatchObject({ code: "Config" });
    expect(compiled("a")).toBe("A");
  });

  test("without a match there is the fallback value, null, or the input", () => {
    const patterns = [literal("a", "A")];
    expect(run("b", match({ patterns }))).toBe(null);
    expect(run("b", match({ patterns, fallbackValue: 5 }))).toEqual(new Float64(5));
    expect(run("b", match({ patterns, fallbackTo: "Input" }))).toBe("b");
    expect(run("b", match({ patterns, fallbackTo: "Input", fallbackValue: null }))).toBe("b");
  });

  test("both fallbacks are an error if nothing matches", () => {
    const transform = match({ patterns: [literal("a", "A")], fallbackTo: "Input", fallbackValue: 1 });
    expect(run("a", transform)).toBe("A");
    expect(outcome(() => run("b", transform))).toMatchObject({ code: "Config" });
  });

  test("patterns need strings; without patterns any input is valid", () => {
    expect(outcome(() => run(1, match({ patterns: [literal("1", 1)] })))).toMatchObject({ code: "Input" });
    expect(outcome(() => run(null, match({ patterns: [regexp("", 1)] })))).toMatchObject({ code: "Input" });
    expect(run({ a: 1 }, match({ fallbackTo: "Input" }))).toEqual({ a: 1 });
  });

  test.each([
    ["no literal", { type: "literal", result: 1 }],
    ["no regexp", { type: "regexp", result: 1 }],
    ["another type", { type: "glob", literal: "a", result: 1 }],
    ["null", null],
  ])("a pattern with %s is an error", (_, pattern) => {
    expect(outcome(() => run("a", match({ patterns: [pattern] })))).toMatchObject({ code: "Config", index: 0 });
  });
});

describe("math", () => {
  const math = (fields: object): object => ({ type: "math", math: fields });

  test("multiplies integers exactly, and wraps around as int64 does", () => {
    expect(run(9007199254740993n, math({ multiply: 3 }))).toBe(27021597764222979n);
    expect(run(4611686018427387904n, math({ multiply: 2 }))).toBe(-9223372036854775808n);
    expect(run(2 ** 40, math({ type: "Multiply", multiply: 2 ** 40 }))).toBe(0);
    expect(Object.is(run(0, math({ multiply: -3 })), 0)).toBe(true);
  });

  test("multiplies floats as floats", () => {
    expect(run(1.5, math({ multiply: 2 }))).toEqual(new Float64(3));
    expect(run(new Float64(2), math({ multiply: 3 }))).toEqual(new Float64(6));
    expect(run(Infinity, math({ multiply: 0 }))).toBe(Number.NaN);
  });

  test("clamps compare the whole part, and keep the type of what they return", () => {
    expect(run(5.9, math({ type: "ClampMax", clampMax: 5 }))).toBe(5.9);
    expect(run(4.999, math({ type: "ClampMin", clampMin: 5 }))).toBe(5);
    expect(run(6.1, math({ type: "ClampMax", clampMax: 5 }))).toBe(5);
    expect(run(new Float64(7), math({ type: "ClampMin", clampMin: 5 }))).toEqual(new Float64(7));
    expect(run(2n ** 62n, math({ type: "ClampMax", clampMax: 2n ** 61n }))).toBe(2n ** 61n);
    expect(run(Number.NaN, math({ type: "ClampMin", clampMin: 0 }))).toBe(0);
  });

  test.each([
    ["no operand", {}],
    ["the operand of another type", { type: "ClampMin", clampMax: 1 }],
    ["another type", { type: "Divide", multiply: 1 }],
    ["a fraction", { multiply: 1.5 }],
    ["a text", { multiply: "2" }],
    ["more than 64 bits", { multiply: 2n ** 63n }],
  ])("%s is an error", (_, fields) => {
    expect(outcome(() => run(1, math(fields)))).toMatchObject({ code: "Config" });
  });

  test.each([["1"], [true], [null], [[]], [{}]])("%j is not a number", (input) => {
    expect(outcome(() => run(input, math({ multiply: 2 })))).toMatchObject({ code: "Input" });
  });
});

describe("string", () => {
  const string = (fields: object): object => ({ type: "string", string: fields });

  test("trims a prefix and a suffix of what Go prints", () => {
    expect(run("aaab", string({ type: "TrimPrefix", trim: "a" }))).toBe("aab");
    expect(run(42, string({ type: "TrimPrefix", trim: "4" }))).toBe("2");
    expect(run({ a: 1 }, string({ type: "TrimSuffix", trim: ":1]" }))).toBe("map[a");
    expect(run("a", string({ type: "TrimSuffix", trim: "" }))).toBe("a");
  });

  test("extracts a match or a group", () => {
    const regexp = { match: "([a-z]+)-([0-9]+)", group: 2 };
    expect(run("x abc-42", string({ type: "Regexp", regexp }))).toBe("42");
    expect(run([1, "a-1"], string({ type: "Regexp", regexp: { match: "a-." } }))).toBe("a-1");
    expect(outcome(() => run("abc", string({ type: "Regexp", regexp })))).toMatchObject({ code: "Input" });
    expect(outcome(() => run("a-1", string({ type: "Regexp", regexp: { ...regexp, group: 3 } })))).toMatchObject({
      code: "Input",
    });
    expect(outcome(() => run("a-1", string({ type: "Regexp", regexp: { ...regexp, group: -1 } })))).toMatchObject({
      code: "Config",
    });
  });

  test("joins a list", () => {
    const join = string({ type: "Join", join: { separator: ", " } });
    expect(run(["a", 1, new Float64(2), null, true, ["b"], { c: 1 }] as GoValue, join)).toBe(
      "a, 1, 2, <nil>, true, [b], map[c:1]",
    );
    expect(run([], join)).toBe("");
    expect(outcome(() => run("a", join))).toMatchObject({ code: "Input" });
    expect(outcome(() => run(["a"], string({ type: "Join" })))).toMatchObject({ code: "Config" });
  });

  test.each<[GoValue, string, string | undefined, string]>([
    ["Crossplane", "Cr", "B", "Bossplane"],
    ["Crossplane", "xx", "zz", "Crossplane"],
    ["Crossplane", "ss", "", "Croplane"],
    ["a.b.c", ".", undefined, "abc"],
    ["a.b", ".", "$&", "a$&b"],
    [1.5, ".", "-", "1-5"],
  ])("replaces in %j every %j by %j", (input, search, replace, expected) => {
    const given = { search, ...(replace !== undefined && { replace }) };
    expect(run(input, string({ type: "Replace", replace: given }))).toBe(expected);
  });

  test("a replacement needs a text to search, and has a bounded result", () => {
    for (const replace of [undefined, { search: "" }])
      expect(outcome(() => run("a", string({ type: "Replace", ...(replace && { replace }) })))).toMatchObject({
        code: "Config",
      });
    const replace = { search: "a", replace: "b".repeat(1024 * 1024) };
    expect(outcome(() => run("a".repeat(1024 * 1024), string({ type: "Replace", replace })))).toMatchObject({
      code: "Limit",
    });
  });

  test.each([
    ["ToUpper", "Straße", "STRAßE"],
    ["ToLower", true, "true"],
    ["ToBase64", "é", "w6k="],
    ["ToBase64", { a: [1, "b"] }, "bWFwW2E6WzEgYl1d"],
    ["FromBase64", "w6k=", "é"],
    ["FromBase64", "w6\nk=\r\n", "é"],
    ["FromBase64", "/w==", "\udcff"],
    ["ToJson", { b: 1, a: "<&>" }, '{"a":"\\u003c\\u0026\\u003e","b":1}'],
    ["ToJson", "a\udcff", '"a\\ufffd"'],
    ["ToSha1", "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"],
    ["ToSha1", "\udcff", "85e53271e14006f0265921d02d4d736cdc580b0b"],
    ["ToSha256", { a: 1 }, "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"],
  ] as [string, GoValue, string][])("%s of %j", (convert, input, output) => {
    expect(run(input, string({ type: "Convert", convert }))).toBe(output);
  });

  test.each(["w6k", "w6k==", "w-k=", "w 6k=", "=", "YQ=", "YQ==YQ=="])("%j is not base64", (input) => {
    expect(outcome(() => run(input, string({ type: "Convert", convert: "FromBase64" })))).toMatchObject({
      code: "Input",
    });
  });

  test("a value that JSON cannot represent is an error", () => {
    for (const convert of ["ToJson", "ToSha256"]) {
      expect(outcome(() => run([Number.NaN], string({ type: "Convert", convert })))).toMatchObject({ code: "Input" });
    }
  });

  test.each([
    [{ type: "Format" }],
    [{ type: "Format", fmt: 5 }],
    [{ type: "Convert" }],
    [{ type: "Convert", convert: "ToMd5" }],
    [{ type: "TrimPrefix" }],
    [{ type: "TrimSuffix" }],
    [{ type: "Regexp" }],
    [{ type: "Regexp", regexp: { match: 5 } }],
    [{ type: "Split" }],
  ])("%j is an error", (fields) => {
    expect(outcome(() => run("a", string(fields)))).toMatchObject({ code: "Config" });
  });
});

describe("convert", () => {
  const convert = (toType: unknown, format?: unknown): object => ({ type: "convert", convert: { toType, format } });

  test.each([
    ["5", "int64", 5],
    ["5", "int", 5],
    ["5", "float64", new Float64(5)],
    ["t", "bool", true],
    [5, "string", "5"],
    [9007199254740993n, "string", "9007199254740993"],
    [9007199254740993n, "float64", 9007199254740992],
    [1, "bool", true],
    [2, "bool", false],
    [new Float64(1), "bool", true],
    [1.9, "int64", 1],
    [-1.9, "int64", -1],
    [1e300, "int64", -9223372036854775808n],
    [1e21, "string", "1000000000000000000000"],
    [1e-7, "string", "0.0000001"],
    [new Float64(3), "string", "3"],
    [true, "string", "true"],
    [true, "int64", 1],
    [false, "float64", new Float64(0)],
  ] as [GoValue, string, GoValue][])("%s to %s", (input, toType, output) => {
    expect(run(input, convert(toType))).toEqual(output);
  });

  test("a value of the target type is returned unchanged, with any format", () => {
    expect(run("x", convert("string", "quantity"))).toBe("x");
    expect(run(5, convert("int", "json"))).toBe(5);
    expect(run(1.5, convert("float64", "quantity"))).toBe(1.5);
  });

  test("quantities: from a string to a float64 only", () => {
    expect(run("1.5Gi", convert("float64", "quantity"))).toEqual(new Float64(1610612736));
    expect(run("250m", convert("float64", "quantity"))).toBe(0.25);
    expect(outcome(() => run("1K", convert("float64", "quantity")))).toMatchObject({ code: "Input" });
    expect(outcome(() => run("1", convert("int64", "quantity")))).toMatchObject({ code: "Input" });
    expect(outcome(() => run(1, convert("float64", "quantity")))).toMatchObject({ code: "Input" });
  });

  test("JSON: from a string to an object or a list, numbers as float64", () => {
    expect(run('{"a": [1, 2.5], "__proto__": null}', convert("object", "json"))).toEqual(
      Object.assign(Object.create(null), { a: [new Float64(1), 2.5], ["__proto__"]: null }),
    );
    expect(run(" [1, {}]", convert("array", "json"))).toEqual([new Float64(1), {}]);
    for (const text of ["[1]", "5", "", "{", "{a: 1}", '{"a": 1e999}']) {
      expect(outcome(() => run(text, convert("object", "json")))).toMatchObject({ code: "Input" });
    }
    expect(outcome(() => run("{}", convert("array", "json")))).toMatchObject({ code: "Input" });
    expect(outcome(() => run("{}", convert("object")))).toMatchObject({ code: "Input" });
    expect(outcome(() => run(`${"[".repeat(9999)}${"]".repeat(9999)}`, convert("array", "json")))).toMatchObject({
      code: "Limit",
    });
  });

  test.each([[null], [[]], [{}]])("%j cannot be converted", (input) => {
    for (const toType of ["string", "object", "array"]) {
      expect(outcome(() => run(input, convert(toType)))).toMatchObject({ code: "Input" });
    }
  });

  test.each([
    ["", undefined],
    ["float", undefined],
    [undefined, undefined],
    ["string", "hex"],
    ["string", ""],
    [5, 5],
  ])("toType %j with format %j is an error", (toType, format) => {
    expect(outcome(() => run("a", convert(toType, format)))).toMatchObject({ code: "Config" });
  });
});

describe("transforms, properties", () => {
  const configuration = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.constant(undefined),
    fc.constantFrom("%s", "%d", "a*", "Input", "json"),
  );
  const transform = fc.record({
    type: fc.constantFrom("map", "match", "math", "string", "convert", ""),
    map: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), configuration),
    match: fc.record({
      patterns: fc.array(
        fc.record({
          type: fc.constantFrom("literal", "regexp"),
          literal: configuration,
          regexp: configuration,
          result: fc.jsonValue(),
        }),
      ),
      fallbackTo: configuration,
      fallbackValue: fc.jsonValue(),
    }),
    math: fc.record({
      type: fc.constantFrom("Multiply", "ClampMin", "ClampMax", ""),
      multiply: configuration,
      clampMin: configuration,
      clampMax: fc.integer(),
    }),
    string: fc.record({
      type: fc.constantFrom("Format", "Convert", "TrimPrefix", "TrimSuffix", "Regexp", "Join", "Replace"),
      fmt: configuration,
      convert: fc.constantFrom("ToUpper", "ToLower", "ToBase64", "FromBase64", "ToJson", "ToSha1", undefined),
      trim: configuration,
      regexp: fc.record({
        match: fc.oneof(fc.string(), fc.constantFrom("a|b", "(.)(.*)", "\\d+", "(")),
        group: fc.integer({ min: -1, max: 3 }),
      }),
      join: fc.record({ separator: configuration }),
      replace: fc.record({ search: configuration, replace: configuration }),
    }),
    convert: fc.record({
      toType: fc.constantFrom("string", "int", "int64", "bool", "float64", "object", "array", "x"),
      format: fc.constantFrom("none", "quantity", "json", undefined, "x"),
    }),
  });
  const input = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.integer(),
    fc.double().map((value) => float64(value)),
    fc.jsonValue(),
  ) as fc.Arbitrary<GoValue>;

  test("any transforms on any input return the same value twice, or throw a TransformError", () => {
    fc.assert(
      fc.property(fc.array(transform, { maxLength: 4 }), input, (transforms, value) => {
        const compiled = compileTransforms(transforms as unknown as Transform[]);
        const first = outcome(() => compiled(value));
        if (first instanceof Error) expect(first).toBeInstanceOf(TransformError);
        else expect(outcome(() => compiled(value))).toEqual(first);
      }),
      { numRuns },
    );
  });
});
