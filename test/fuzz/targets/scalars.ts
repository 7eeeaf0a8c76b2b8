import assert from "node:assert/strict";
import { parseDuration, parseQuantity, quantityToBytes, quantityToCores } from "@xfn/units";
import fc, { type Arbitrary } from "fast-check";
import { text } from "../generators.ts";
import { mutatedText } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const digits = fc.oneof(
  fc.nat().map(String),
  fc.constantFrom("", "0", "000", "9".repeat(30), "0.5", ".5", "5.", "1".repeat(120)),
);
const sign = fc.constantFrom("", "-", "+");

function written(suffixes: readonly string[], maxParts: number): Arbitrary<string> {
  const part = fc.tuple(digits, fc.constantFrom(...suffixes)).map((pieces) => pieces.join(""));
  return fc
    .tuple(sign, fc.array(part, { minLength: 1, maxLength: maxParts }))
    .map(([before, parts]) => before + parts.join(""));
}

const SUFFIXES = [
  "",
  "n",
  "u",
  "m",
  "k",
  "M",
  "G",
  "T",
  "P",
  "E",
  "Ki",
  "Mi",
  "Ei",
  "e3",
  "E-2",
  "e+99",
  "e999999999",
  "K",
  "ki",
];
const UNITS = ["ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", ""];

/** Quantities of Kubernetes. */
export const quantity: Target = target({
  input: fc.oneof(written(SUFFIXES, 2), mutatedText(["250m", "0.5", "64Mi", "1e3", "-3Gi", "12.000001"]), text),
  run: (input) => {
    const parsed = parseQuantity(input);
    const bytes = quantityToBytes(parsed);
    assert.ok(Number.isInteger(bytes) && bytes <= Number.MAX_SAFE_INTEGER);
    assert.ok(Number.isFinite(quantityToCores(parsed)));
  },
});

/** Durations of Go. */
export const duration: Target = target({
  input: fc.oneof(written(UNITS, 4), mutatedText(["1m30s", "500ms", "-1.5h", "2h45m0.1s"]), text),
  run: (input) => assert.ok(Number.isFinite(parseDuration(input))),
});
