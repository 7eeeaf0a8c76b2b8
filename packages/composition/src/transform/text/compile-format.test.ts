import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Float64, float64, type GoValue, int64 } from "../../values/go-value.ts";
import { compileFormat, printed } from "./compile-format.ts";
import { bytesOf, runeCount } from "./go-string.ts";
import { MAX_TEXT_LENGTH } from "./limits.ts";
import { TransformError } from "./transform-error.ts";

const numRuns = Number(process.env["XFN_FUZZ_RUNS"] ?? 200);

const sprintf = (format: string, ...args: GoValue[]): string => compileFormat(format)(args);

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

/**
 * Each line: a format, its arguments, and the output of `fmt.Sprintf` of Go 1.26.8. Arguments are JSON: numbers are
 * int64, and `{"i": "…"}` is an int64 beyond 2^53, `{"f": "…"}` a float64, `{"o": {…}}` an object.
 */
const TABLE: [string, ...unknown[]][] = readFileSync(new URL("./go-fmt.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as [string, ...unknown[]]);

function argument(json: unknown): GoValue {
  if (Array.isArray(json)) return json.map(argument) as GoValue;
  if (typeof json !== "object" || json === null) return json as GoValue;
  if ("i" in json) return int64(BigInt(json.i as string));
  if ("f" in json) return float64(Number((json.f as string).replace("Inf", "Infinity")));
  const entries = Object.entries((json as { o: object }).o).map(([key, value]) => [key, argument(value)]);
  return Object.fromEntries(entries) as GoValue;
}

describe("compileFormat", () => {
  test.each(TABLE)("%j %j %j %j prints as Go does", (format, ...rest) => {
    expect(sprintf(format, ...rest.slice(0, -1).map(argument))).toBe(rest.at(-1));
  });

  test("a compiled format can be called with another number of arguments", () => {
    const format = compileFormat("%s-%s");
    expect(format(["a", "b"])).toBe("a-b");
    expect(format(["a"])).toBe("a-%!s(MISSING)");
    expect(format(["a", "b"])).toBe("a-b");
  });

  test("the same number is an int64 or a float64 by its type", () => {
    expect(sprintf("%d", 7)).toBe("7");
    expect(sprintf("%d", new Float64(7))).toBe("%!d(float64=7)");
    expect(sprintf("%d", 2n ** 63n)).toBe("%!d(float64=9.223372036854776e+18)");
  });

  test("bytes of invalid UTF-8 are retained, and join to characters", () => {
    expect(sprintf("%x", "\udcff\udc80")).toBe("ff80");
    expect(sprintf("%q", "a\udcff")).toBe('"a\\xff"');
    expect(sprintf("%5s", "\udcff")).toBe("    \udcff");
    expect(sprintf("%s%s", "\udce2\udc82", "\udcac")).toBe("\u20ac");
  });

  test("keys such as __proto__ are data", () => {
    const value = JSON.parse('{"__proto__": 1, "constructor": {"__proto__": null}}') as GoValue;
    expect(sprintf("%v", value)).toBe("map[__proto__:1 constructor:map[__proto__:<nil>]]");
  });

  test("%p is rejected, because every run would print another address", () => {
    expect(outcome(() => sprintf("%p", {}))).toMatchObject({
      name: "TransformError",
      code: "Config",
      retryable: false,
    });
    expect(sprintf("%p", "a")).toBe("%!p(string=a)");
  });

  test.each([
    ["a width", "%9999999d", [1]],
    ["a precision", "%.9999999f", [float64(1)]],
    ["a precision of an integer", "%.9999999d", [1]],
    ["zeros", "%09999999d", [1]],
    ["%U", "%.9999999U", [1]],
    ["many widths", "%1000000[1]s".repeat(10), [""]],
    ["repetition", "%[1]s".repeat(1000), ["x".repeat(10_000)]],
    ["a padded list", "%1000000v", [Array.from({ length: 10 }, () => 1)]],
    ["hexadecimal digits", "%x", ["x".repeat(MAX_TEXT_LENGTH - 1)]],
  ] as [string, string, GoValue[]][])("%s, which needs megabytes, is an error", (_, format, args) => {
    expect(outcome(() => sprintf(format, ...args))).toMatchObject({ name: "TransformError", code: "Limit" });
  });

  test("endless nesting is an error, not a stack overflow", () => {
    let value: GoValue = [];
    for (let i = 0; i < 100_000; i++) value = [value] as GoValue;
    expect(outcome(() => sprintf("%v", value))).toMatchObject({ code: "Limit" });
  });
});

const anyValue: fc.Arbitrary<GoValue> = fc.letrec<{ value: GoValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.string({ unit: "binary" }),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(int64),
    fc.double().map((value) => float64(value)),
    fc.array(tie("value"), { maxLength: 4 }).map((list) => list as GoValue),
    fc.dictionary(fc.string(), tie("value"), { maxKeys: 4 }).map((object) => object as GoValue),
  ),
})).value;

const anyFormat: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.constantFrom("%", "#", "+", "-", " ", "0", "*", "[1]", "[2]", "[", "]", ".", "5", "12"),
      },
      { weight: 6, arbitrary: fc.constantFrom(..."vTtsdqxXobOcUeEfFgGpw") },
      fc.string({ unit: "binary", maxLength: 2 }),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(""));

describe("compileFormat, properties", () => {
  test("any format and arguments yield a text or a TransformError", () => {
    fc.assert(
      fc.property(anyFormat, fc.array(anyValue, { maxLength: 3 }), (format, args) => {
        const result = outcome(() => sprintf(format, ...args));
        if (typeof result !== "string") expect(result).toBeInstanceOf(TransformError);
      }),
      { numRuns },
    );
  });

  test("a width is a lower bound in runes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 40 }), (text, width) => {
        const padded = sprintf(`%${width}s`, text);
        expect(runeCount(padded)).toBe(Math.max(width, runeCount(text)));
        expect(padded.endsWith(text.toWellFormed()) || padded.endsWith(text)).toBe(true);
      }),
      { numRuns },
    );
  });

  test("%x is the hexadecimal form of the bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(sprintf("%x", text)).toBe(Buffer.from(bytesOf(text)).toString("hex"));
      }),
      { numRuns },
    );
  });

  test("%v of a double reads back as the same double", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Number(printed(float64(value), neverFails))).toBe(value);
      }),
      { numRuns },
    );
  });

  test("%e with 16 digits and %.20f read back as the same double", () => {
    fc.assert(
      fc.property(fc.double({ min: -1e15, max: 1e15, noNaN: true }), (value) => {
        expect(Number(sprintf("%.16e", float64(value)))).toBe(value);
        expect(Number(sprintf("%.1074f", float64(value)))).toBe(value);
      }),
      { numRuns: Math.min(numRuns, 100_000) },
    );
  });
});

function neverFails(): never {
  throw new Error("no failure was expected");
}
