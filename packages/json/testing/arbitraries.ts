import fc from "fast-check";
import type { JsonValue } from "../src/value/json-value.ts";

/** Text that readers like to take for something else, and ordinary text. */
const text: fc.Arbitrary<string> = fc
  .oneof(
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.stringMatching(/^[-+0-9.eExob_:~ynofN]{0,8}$/),
    fc.constantFrom("on", "y", "n", "null", "~", "0x1f", "1e3", "012", "08", "22:22", "=", "<<", "0o7", "1:30", ".inf"),
    fc.constantFrom("NaN", "Infinity", "-Infinity", "undefined"),
    fc.constantFrom(
      "- a",
      "? ",
      "a: b",
      "a #b",
      "#",
      "'",
      '"',
      "---",
      "...",
      "--- a",
      "%a",
      "@",
      "`",
      "!x",
      "&a",
      "*a",
    ),
    fc.constantFrom("\n", "\n\n", "a\n", "a\nb", "a\n\n", "  a\nb", "a\n b\n", "a\n\tb", "\t", " ", "a\r\nb", "a\n \n"),
    fc.constantFrom(
      "\u2028",
      "\ufeff",
      "\x85",
      "\x00",
      "é",
      "😀",
      "2001-01-01",
      "true\n",
      ".5",
      "5.",
      "+1",
      "::",
      ":a",
    ),
    fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty"),
  )
  .filter((value) => value.isWellFormed());

const integer = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.constant(0));
// Without negative zero, and without integers that a reader of their digits would make a bigint.
const double = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21)
  .map((value) => (value === 0 ? 0 : value));
/** Only what a double cannot hold is a bigint. */
const big = fc
  .bigInt({ min: -(2n ** 70n), max: 2n ** 70n })
  .filter((value) => value > 2n ** 53n || value < -(2n ** 53n));

/** Any JSON value, objects with null prototypes as our parsers make them. */
export const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    text,
    integer,
    double,
    big,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 5 }),
    object(tie("value")),
  ),
})).value;

/** A JSON object of the values given. */
export function object(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<{ [key: string]: JsonValue }> {
  return fc.dictionary(text, value, { maxKeys: 5, noNullPrototype: false }).map((entries) => {
    const made = Object.setPrototypeOf({}, null) as { [key: string]: JsonValue };
    for (const [key, item] of Object.entries(entries)) made[key] = item;
    return made;
  });
}
