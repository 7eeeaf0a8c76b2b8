import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DurationError, parseDuration } from "./duration.ts";

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

describe("parseDuration", () => {
  test.each([
    ["0", 0],
    ["-0", 0],
    ["0s", 0],
    ["10s", 10_000],
    ["1m30s", 90_000],
    ["1h", 3_600_000],
    ["500ms", 500],
    ["1.5h", 5_400_000],
    [".5s", 500],
    ["1.s", 1000],
    ["-2m", -120_000],
    ["+2m", 120_000],
    ["1us", 0.001],
    ["1\u00b5s", 0.001],
    ["1\u03bcs", 0.001],
    ["1ns", 0.000001],
    ["30s1m", 90_000],
  ])("reads %s as Go does", (text, ms) => {
    expect(parseDuration(text) + 0).toBe(ms);
  });

  test.each([
    "",
    "-",
    "10",
    "s",
    "1",
    "1d",
    "1 s",
    " 1s",
    "1s ",
    "1.2.3s",
    ".s",
    "1e3s",
    "1S",
    "1ss",
    "--1s",
    "300000h1x",
  ])("refuses %j", (text) => {
    expect(() => parseDuration(text)).toThrow(expect.objectContaining({ code: "InvalidDuration", retryable: false }));
  });

  test("refuses what Go's 64 bits cannot hold, and endless texts", () => {
    expect(() => parseDuration("2562048h")).toThrow(DurationError);
    expect(parseDuration("2562047h")).toBe(2562047 * 3_600_000);
    expect(() => parseDuration("1s".repeat(1_000_000))).toThrow(DurationError);
  });

  test("parts add up in any order", () => {
    const units: [string, number][] = [
      ["h", 3_600_000],
      ["m", 60_000],
      ["s", 1000],
      ["ms", 1],
    ];
    const part = fc.tuple(fc.nat({ max: 10_000 }), fc.constantFrom(...units));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const text = parts.map(([n, [unit]]) => `${n}${unit}`).join("");
        expect(parseDuration(text)).toBe(parts.reduce((sum, [n, [, ms]]) => sum + n * ms, 0));
      }),
    );
  });

  test("never throws anything but a DurationError", () => {
    const unit = fc.constantFrom(..."0123456789.+-nuµmsh ", "ms", "us");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 16 }), (text) => {
        expect(outcome(() => parseDuration(text))).toSatisfy(
          (found) => found instanceof DurationError || Number.isFinite(found),
        );
      }),
    );
  });
});
