import fc from "fast-check";
import { expect, test } from "vitest";
import { parseTrustedJson } from "./parse-trusted-json.ts";
import { parseJsonDocument } from "./read.ts";

const outcome = (parse: () => unknown): unknown => {
  try {
    return parse();
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

test("it reads any JSON as the careful parser does", () => {
  const json = fc.json({ maxDepth: 6 }).map((text) => text.replaceAll("1", "12345678901234567"));
  fc.assert(
    fc.property(fc.oneof(fc.json({ maxDepth: 6 }), json), (text) => {
      expect(outcome(() => parseTrustedJson(text))).toEqual(outcome(() => parseJsonDocument(text)));
    }),
  );
});

test.each([
  ['{"a":9007199254740993,"b":[-9223372036854775808]}'],
  ['{"__proto__":{"x":1},"constructor":null}'],
  ['{"a":1e999}'],
  ["1e999"],
  ["9007199254740993"],
  ['"\\ud800"'],
  ["[-1e999]"],
  ['["\\ud800"]'],
  ['{"\\udfff":1}'],
  ['["\\ud83d\\ude00"]'],
  ["null"],
  [""],
  ["{"],
  ['{"a":tru}'],
  [`${"[".repeat(500)}${"]".repeat(500)}`],
  [`${"[".repeat(501)}${"]".repeat(501)}`],
  [`${'{"a":'.repeat(501)}1${"}".repeat(501)}`],
])("it and the careful parser agree on %s", (text) => {
  expect(outcome(() => parseTrustedJson(text))).toEqual(outcome(() => parseJsonDocument(text)));
  expect(outcome(() => parseTrustedJson(Buffer.from(text)))).toEqual(outcome(() => parseJsonDocument(text)));
});

test.each([
  ["9007199254740993", 9007199254740993n],
  ['"9007199254740993"', "9007199254740993"],
  ["1e999", "NotJson"],
  ['"\\ud800"', "NotJson"],
  ["null", null],
])("a document may be a single value: %s", (text, value) => {
  expect(outcome(() => parseTrustedJson(text))).toBe(value);
  expect(outcome(() => parseJsonDocument(text))).toBe(value);
});

test("objects have null prototypes, at any depth", () => {
  const value = parseTrustedJson('{"a":[{"b":{}}]}') as { a: [{ b: object }] };
  for (const object of [value, value.a[0], value.a[0].b]) expect(Object.getPrototypeOf(object)).toBeNull();
});
