import fc from "fast-check";
import { expect, test } from "vitest";
import { hasEscapedKey, nativeJson } from "../text/native-json.ts";
import { parseTrustedJson } from "./parse-trusted-json.ts";
import { parseJsonDocument } from "./read.ts";

const PARSERS = { nativeJson, parseTrustedJson, parseJsonDocument };

test.each(Object.entries(PARSERS))(
  "%s gives keys with escapes their own names, after any earlier text",
  (parser, parse) => {
    for (const [index, [escaped, name]] of [
      ["\\n", "\n"],
      ['\\"', '"'],
      ["\\u001c", "\u001c"],
      ["\\u0061", "a"],
      ["\\u005f_proto__", "__proto__"],
    ].entries()) {
      // No other objects begin with this key: V8 expects the same one to come after it again.
      const first = `${parser}${index}`;
      JSON.parse(`{"${first}":1,"\\\\":1}`);
      expect(Object.keys(parse(`{"${first}":1,"${escaped}" : 2}`) as object)).toEqual([first, name]);
    }
  },
);

test("it parses the output of JSON.stringify, in the same order", () => {
  const key = fc.string({ unit: fc.constantFrom("\\", '"', "\n", "a", ":", "/", "\u001c", "é", "{", " ") });
  const value = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof({ maxDepth: 4 }, key, fc.integer(), fc.array(tie("any")), fc.dictionary(key, tie("any"))),
  })).any;
  fc.assert(
    fc.property(value, (document) => {
      const text = JSON.stringify(document);
      for (const parse of Object.values(PARSERS)) expect(JSON.stringify(parse(text))).toBe(text);
    }),
  );
});

test.each([
  ['{"a":"\\n"}', false],
  ['{"a":"\\"b\\":1"}', false],
  ['["\\\\","b:"]', false],
  ['{"a\\n" :1}', true],
  ['{"a":{"\\\\":1}}', true],
  ['{"a":"\\\\","\\"":1}', true],
])("whether a key of %s has an escape: %s", (text, has) => {
  expect(hasEscapedKey(text)).toBe(has);
});

test.each(["\\", '\\":1', '{"a"\\n":1}', '{"a\\', '{"a\\"', '{"\\x":1}', '{"\\n":}'])("%s is not JSON", (text) => {
  expect(() => nativeJson(text)).toThrow(SyntaxError);
  expect(() => parseTrustedJson(text)).toThrow(expect.objectContaining({ code: "Syntax" }));
});

test("two spellings of one key are a duplicate", () => {
  expect(() => parseJsonDocument('{"a":1,"\\u0061":2}')).toThrow(expect.objectContaining({ code: "DuplicateKey" }));
  expect(nativeJson('{"a":1,"\\u0061":2}')).toEqual({ a: 2 });
});

test("a hundred thousand levels do not end it", () => {
  const depth = 100_000;
  expect(() => nativeJson(`${'{"\\n":'.repeat(depth)}1${"}".repeat(depth)}`)).not.toThrow();
});
