import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseQuantity, QuantityError, quantityToBytes, quantityToCores, quantityToFloat64 } from "./quantity.ts";

const nanos = (text: string): bigint => parseQuantity(text).nanos;

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

describe("parseQuantity", () => {
  test.each([
    ["0", 0n],
    ["1", 1_000_000_000n],
    ["-1", -1_000_000_000n],
    ["+1", 1_000_000_000n],
    ["007", 7_000_000_000n],
    ["1.", 1_000_000_000n],
    [".5", 500_000_000n],
    ["250m", 250_000_000n],
    ["1u", 1_000n],
    ["1n", 1n],
    ["1k", 1_000_000_000_000n],
    ["1Ki", 1_024_000_000_000n],
    ["1.5Gi", 1_610_612_736_000_000_000n],
    ["1e3", 1_000_000_000_000n],
    ["1E3", 1_000_000_000_000n],
    ["1E", 10n ** 27n],
    ["1e-3", 1_000_000n],
    ["1e+3", 1_000_000_000_000n],
    ["12E-2", 120_000_000n],
  ])("%s is exact", (text, expected) => {
    expect(nanos(text)).toBe(expected);
  });

  test("rounds values finer than a nano-unit up, away from zero", () => {
    expect(nanos("0.1n")).toBe(1n);
    expect(nanos("-0.1n")).toBe(-1n);
    expect(nanos("1e-100000")).toBe(1n);
    expect(nanos("1.0000000001")).toBe(1_000_000_001n);
  });

  test("caps at 2^63-1 as Kubernetes does", () => {
    expect(nanos("8Ei")).toBe((2n ** 63n - 1n) * 10n ** 9n);
    expect(nanos("1e1000000000")).toBe((2n ** 63n - 1n) * 10n ** 9n);
    expect(nanos("-1e1000000000")).toBe(-(2n ** 63n - 1n) * 10n ** 9n);
  });

  test("zero stays zero with any exponent", () => {
    expect(nanos("0e1000000000")).toBe(0n);
    expect(nanos("0.000Ei")).toBe(0n);
  });

  test("reads a bare suffix as zero, as Kubernetes does", () => {
    expect(nanos("Ki")).toBe(0n);
    expect(nanos("m")).toBe(0n);
  });

  test.each([
    "",
    " 1",
    "1 ",
    "1 Ki",
    "1K",
    "1ki",
    "1Kib",
    "1e",
    "1e-",
    "1e+",
    "0x10",
    "1_000",
    "1,5",
    "1.2.3",
    "--1",
    "1e2147483648",
  ])("refuses %j", (text) => {
    expect(() => parseQuantity(text)).toThrow(QuantityError);
    expect(() => parseQuantity(text)).toThrow(expect.objectContaining({ code: "InvalidQuantity", retryable: false }));
  });

  test("refuses an endless number without parsing it", () => {
    expect(() => parseQuantity("9".repeat(1_000_000))).toThrow(QuantityError);
  });

  test("never throws anything but a QuantityError", () => {
    const alphabet = fc.constantFrom(..."0123456789.+-eEinumkKMGTP x");
    fc.assert(
      fc.property(fc.string({ unit: fc.oneof(alphabet, fc.string({ maxLength: 1 })), maxLength: 20 }), (text) => {
        expect(outcome(() => parseQuantity(text).nanos)).toSatisfy(
          (found) => found instanceof QuantityError || typeof found === "bigint",
        );
      }),
    );
  });

  test("any whole number of any decimal unit is exact", () => {
    const units: [string, bigint][] = [
      ["n", 1n],
      ["u", 10n ** 3n],
      ["m", 10n ** 6n],
      ["", 10n ** 9n],
      ["k", 10n ** 12n],
      ["M", 10n ** 15n],
      ["Ki", 1024n * 10n ** 9n],
      ["Gi", 1024n ** 3n * 10n ** 9n],
    ];
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 31), max: 2 ** 31 }), fc.constantFrom(...units), (n, [unit, factor]) => {
        expect(nanos(`${n}${unit}`)).toBe(BigInt(n) * factor);
      }),
    );
  });

  test("moving the decimal point equals changing the exponent", () => {
    fc.assert(
      fc.property(fc.nat({ max: 1e9 }), fc.integer({ min: 0, max: 9 }), (n, places) => {
        const padded = String(n).padStart(places + 1, "0");
        const point = padded.length - places;
        const moved = `${padded.slice(0, point)}.${padded.slice(point)}`;
        expect(nanos(moved)).toBe(nanos(`${n}e-${places}`));
      }),
    );
  });
});

describe("quantityToBytes", () => {
  test.each([
    ["64Mi", 64 * 1024 * 1024],
    ["1.5Ki", 1536],
    ["0.5", 1],
    ["1m", 1],
    ["100.000000001", 101],
    ["-0.5", 0],
    ["8Ei", Number.MAX_SAFE_INTEGER],
  ])("%s rounds up to whole bytes", (text, expected) => {
    expect(quantityToBytes(parseQuantity(text)) + 0).toBe(expected);
  });
});

describe("quantityToCores", () => {
  test.each([
    ["250m", 0.25],
    ["1", 1],
    ["2.5", 2.5],
    ["0.1", 0.1],
    ["100m", 0.1],
    ["1n", 0.001],
    ["1.2345", 1.235],
    ["-100m", -0.1],
  ])("%s is a fraction of cores", (text, expected) => {
    expect(quantityToCores(parseQuantity(text))).toBe(expected);
  });
});

// Results of AsApproximateFloat64 of k8s.io/apimachinery v0.27.3.
describe("quantityToFloat64", () => {
  test.each([
    ["0", 0],
    ["-0", 0],
    ["0.3", 0.30000000000000004],
    ["250m", 0.25],
    ["1.5Gi", 1610612736],
    ["Ki", 0],
    ["m", 0],
    ["-", 0],
    ["1e400", Number.POSITIVE_INFINITY],
    ["0e400", Number.NaN],
    ["1e2147483647", Number.POSITIVE_INFINITY],
    ["-4799.1885683065764148e400", Number.NEGATIVE_INFINITY],
    ["1e-20", 1e-9],
    ["0.1n", 1e-9],
    ["9223372036854775808", 9223372036854776000],
    ["16Ei", 9223372036854776000],
    ["1E", 1e18],
  ])("%s", (text, value) => {
    expect(quantityToFloat64(text)).toBe(value);
  });

  test.each([
    "",
    "1K",
    "1ki",
    "Ei",
    "e-20",
    "1e",
    "1e2147483648",
    "1e-2147483649",
    "1e4294967299",
    " 1",
    "1 ",
    "1e5x",
    "one",
    "1".repeat(200),
  ])("%j is not a quantity", (text) => {
    expect(quantityToFloat64(text)).toBeUndefined();
  });
});
