import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { int64 } from "../values/go-value.ts";
import { parseBool, parseFloat64, parseInt64 } from "./parse-number.ts";

const numRuns = Number(process.env["XFN_FUZZ_RUNS"] ?? 200);

// Expectations are those of strconv of Go 1.26.8.
describe("parseInt64", () => {
  test.each([
    ["0", 0],
    ["-0", 0],
    ["+5", 5],
    ["00012", 12],
    ["9007199254740993", 9007199254740993n],
    ["9223372036854775807", 9223372036854775807n],
    ["-9223372036854775808", -9223372036854775808n],
    ["000000000000000000000000000001", 1],
  ])("%s", (text, value) => {
    expect(parseInt64(text)).toBe(value);
  });

  test.each([
    "",
    "-",
    " 1",
    "1 ",
    "1_000",
    "1.0",
    "1e3",
    "0x10",
    "9223372036854775808",
    "-9223372036854775809",
    "\u0661",
    "1".repeat(5000),
  ])("rejects %j", (text) => {
    expect(parseInt64(text)).toBeUndefined();
  });

  test("reads back every int64", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        expect(parseInt64(String(value))).toBe(int64(value));
      }),
      { numRuns },
    );
  });
});

describe("parseBool", () => {
  test.each(["1", "t", "T", "true", "TRUE", "True"])("%s is true", (text) => {
    expect(parseBool(text)).toBe(true);
  });

  test.each(["0", "f", "F", "false", "FALSE", "False"])("%s is false", (text) => {
    expect(parseBool(text)).toBe(false);
  });

  test.each(["", "tRUE", "yes", " true", "2"])("rejects %j", (text) => {
    expect(parseBool(text)).toBeUndefined();
  });
});

describe("parseFloat64", () => {
  test.each([
    ["1", 1],
    ["+1.5", 1.5],
    [".5", 0.5],
    ["5.", 5],
    ["-0", -0],
    ["1e5", 1e5],
    ["1E+5", 1e5],
    ["1e-400", 0],
    ["1_000", 1000],
    ["1_0.5", 10.5],
    ["inf", Infinity],
    ["+Inf", Infinity],
    ["-INFINITY", -Infinity],
    ["nan", Number.NaN],
    ["0x1p-2", 0.25],
    ["0X1.8P1", 3],
    ["0x.8p0", 0.5],
    ["0x_1p4", 16],
    ["-0x1p-1074", -5e-324],
    ["0x1p-1075", 0],
    ["0x1.8p-1075", 5e-324],
    ["0x1.fffffffffffff8p0", 2],
    ["0x1.fffffffffffff7p0", 1.9999999999999998],
    ["0x0p99999", 0],
  ])("%s", (text, value) => {
    expect(parseFloat64(text)).toBe(value);
  });

  test.each([
    "",
    ".",
    "-",
    "1e",
    "e5",
    "1e400",
    "0x1",
    "0xp1",
    "0x1p1024",
    "+nan",
    "infi",
    "1__0",
    "_1",
    "1_",
    "1_.5",
    "1._5",
    "1e_5",
    "1_e5",
    "0_x1p1",
    " 1",
    "1 ",
    "1d",
    "1".repeat(5000),
  ])("rejects %j", (text) => {
    expect(parseFloat64(text)).toBeUndefined();
  });

  test("reads back what Go prints in hexadecimal", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 53n - 1n }),
        fc.integer({ min: -1130, max: 970 }),
        (mantissa, exponent) => {
          // Both factors are exact, so the product is rounded once.
          const half = Math.trunc(exponent / 2);
          const exact = exponent >= -1022 ? Number(mantissa) * 2 ** half * 2 ** (exponent - half) : undefined;
          const read = parseFloat64(`0x${mantissa.toString(16)}p${exponent}`);
          if (exact !== undefined) expect(read).toBe(exact);
          else expect(read).toBeLessThan(2 ** -960);
        },
      ),
      { numRuns },
    );
  });
});
