import fc from "fast-check";
import { expect, test } from "vitest";
import { formatBytes, formatCores, parseBytes, parseMillicores } from "./resource-limit.ts";

test.each([
  ["134217728", 134_217_728],
  ["128Mi", 134_217_728],
  ["0.5Gi", 536_870_912],
  [".5Ki", 512],
  ["1.Ki", 1024],
  ["+1k", 1000],
  ["1e3", 1000],
  ["1E3", 1000],
  ["9Ti", 9 * 2 ** 40],
  ["12e-1", 2],
  ["1n", 1],
  ["100m", 1],
  ["7Pi", 7 * 2 ** 50],
])("%s is %s bytes, rounded up", (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test.each([
  ["250m", 250],
  ["0.25", 250],
  ["1", 1000],
  ["1.0001", 1001],
  ["100u", 1],
])("%s is %s thousandths of a core", (text, thousandths) => {
  expect(parseMillicores(text)).toBe(thousandths);
});

test.each([
  "",
  ".",
  "-1",
  "0",
  "0.0Mi",
  "Mi",
  "1 Mi",
  "1mi",
  "1Kib",
  "1e",
  "1e+",
  "1e9999",
  "1e999",
  "0x10",
  "١",
  "NaN",
  "1E",
  "8Pi",
  "1".repeat(40),
])("%j is not a positive quantity", (text) => {
  expect(parseBytes(text)).toBeUndefined();
});

test("limits survive printing and reading, to the byte and the thousandth", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      fc.integer({ min: 1, max: 1_000_000 }),
      (bytes, thousandths) => {
        expect(parseBytes(formatBytes(bytes))).toBe(bytes);
        expect(parseMillicores(formatCores(thousandths / 1000))).toBe(thousandths);
      },
    ),
  );
});
