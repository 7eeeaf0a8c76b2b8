import assert from "node:assert/strict";
import { type Combine, compileCombine, compileTransforms, type GoValue, type Transform } from "@xfn/composition";
import fc, { type Arbitrary } from "fast-check";
import { fromTyped } from "../../vectors/typed-value.ts";
import { copy, key, number, text, value } from "../generators.ts";
import { mutatedText, mutatedValue, vectorInputs } from "../mutate.ts";
import { type Target, target } from "../target.ts";
import { assertClean } from "./field-path.ts";

const CASES = vectorInputs("transforms").filter(({ transforms }) => transforms !== undefined);
const INPUTS: Arbitrary<GoValue> = fc.oneof(
  { weight: 2, arbitrary: value },
  { weight: 1, arbitrary: number },
  { weight: 1, arbitrary: text },
  { weight: 2, arbitrary: fc.constantFrom(...CASES.map(({ input }) => input)).map(fromTyped) },
);
const LISTS = CASES.map(({ transforms, name, group }) => ({ transforms: transforms ?? [], name, group }));

interface Use {
  transforms: unknown;
  input: GoValue;
}

/** Runs lists of transforms, even wrong ones, on any value. */
export const transforms: Target = target<Use>({
  input: fc.record({ transforms: mutatedValue(LISTS).map((one): unknown => one.transforms), input: INPUTS }),
  run: ({ transforms: list, input }) => {
    if (!Array.isArray(list)) return;
    try {
      const before = copy(input);
      const run = compileTransforms(list as Transform[]);
      const output = run(input);
      assert.notEqual(output, undefined);
      assert.deepEqual(run(input), output);
      assert.deepEqual(input, before);
    } finally {
      assertClean();
    }
  },
});

const FORMATS = [
  ...new Set(
    CASES.flatMap(({ transforms }) => transforms as { string?: { fmt?: unknown } }[])
      .map((one) => one.string?.fmt)
      .filter((fmt) => typeof fmt === "string"),
  ),
];
const verb: Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("", "#", "+", "-", " ", "0", "+#", "-0", "# 0"),
    fc.constantFrom("", "1", "10", "*", "[1]*", "[2]", "1000001", "99999999999999999999"),
    fc.constantFrom("", ".", ".0", ".3", ".*", ".[1]*", ".1000001"),
    fc.constantFrom("", "[1]", "[2]", "[0]", "[x]", "[", "[99999999999999999999]"),
    fc.constantFrom(..."vTtbcdoOqxXUeEfFgGsp%!w\u00e9\u{1F600}"),
  )
  .map((parts) => `%${parts.join("")}`);

/** Formats any arguments like Go's fmt. */
export const format: Target = target<{ fmt: string; inputs: GoValue[] }>({
  input: fc.record({
    fmt: fc.oneof(
      { weight: 3, arbitrary: fc.array(fc.oneof(verb, text), { maxLength: 4 }).map((parts) => parts.join("")) },
      { weight: 2, arbitrary: mutatedText(FORMATS) },
    ),
    inputs: fc.array(INPUTS, { maxLength: 3 }),
  }),
  run: ({ fmt, inputs }) => {
    const combine = { strategy: "string", variables: [], string: { fmt } } satisfies Combine;
    assert.equal(typeof compileCombine(combine)(inputs), "string");
  },
});

const REGEXPS = [
  ...new Set(
    CASES.flatMap(({ transforms }) => transforms as { string?: { regexp?: { match?: unknown } } }[])
      .map((one) => one.string?.regexp?.match)
      .filter((match) => typeof match === "string"),
  ),
  "^(a+)+$",
  "(a|a)*b",
  "(?:a{0,50}){0,20}",
  "(x+x+)+y",
  "\\p{Greek}+|[[:alpha:]]*",
  "(?i)(?P<n>.*?)\\b$",
];

const MATCHED = [
  ...new Set(
    CASES.filter(({ group }) => group === "string-regexp")
      .map(({ input }) => (input as { v?: unknown }).v)
      .filter((one) => typeof one === "string"),
  ),
];

/** Matches RE2 patterns on text that makes other engines backtrack. */
export const regexp: Target = target<{ match: string; group: number; input: string }>({
  input: fc
    .record({
      match: fc.oneof({ weight: 4, arbitrary: mutatedText(REGEXPS) }, { weight: 1, arbitrary: text }),
      group: fc.constantFrom(0, 0, 1, 2, -1, 99),
      input: fc.oneof(
        mutatedText(MATCHED),
        text,
        fc.constantFrom(`${"a".repeat(2000)}!`, "xx".repeat(500), "ab\n".repeat(100)),
        key,
      ),
    })
    .map((use) => ({ ...use, input: use.input.slice(0, reasonable(use.match)) })),
  run: ({ match, group, input }) => {
    const found = compileTransforms([{ type: "string", string: { type: "Regexp", regexp: { match, group } } }])(input);
    // The match is a part of the text.
    assert.ok(typeof found === "string" && input.toWellFormed().includes(found.toWellFormed()));
  },
});

/**
 * RE2's time is proportional to the sizes of pattern and text, and the engine allows more than a tenth of a second.
 * Only inputs beyond that are findings. A repetition count can multiply the size by thousands.
 */
function reasonable(match: string): number {
  return match.includes("{") ? 60 : Math.floor(1_000_000 / (match.length + 1));
}
