import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("json.awk", import.meta.url));

function awk(mode: string, path: string, document: string): string {
  const { status, stdout, stderr } = spawnSync("awk", ["-f", PROGRAM, mode, path], {
    input: document,
    env: { PATH: process.env["PATH"], LC_ALL: "C" },
  });
  if (status !== 0) throw new Error(stderr.toString());
  return stdout.toString();
}

function append(path: string, document: string, element: string): string {
  return awk("before", path, document) + element + awk("after", path, document);
}

describe("json.awk get", () => {
  test.each([
    ["a", '{"a":"b"}', '"b"'],
    ["a", '{"a":[1,{"b":"]"}],"c":2}', '[1,{"b":"]"}]'],
    ["a.b", '{"a":{"x":{"b":1},"b":2}}', "2"],
    ["a.b", '{"a.b":1,"a":{"b":2}}', "2"],
    ["a", '{"x":"\\"a\\":1","a":3}', "3"],
    ["a", '{"x":"\\\\","a":4}', "4"],
    ["a", '{"x\\"":{"a":1},"a":5}', "5"],
    ["a", '{"x":{"a":1}}', "null"],
    ["a", "{}", "null"],
    ["a", '{"a":9007199254740993}', "9007199254740993"],
    ["a", '{"a":"\\u00e9é\\n\\\\"}', '"\\u00e9é\\n\\\\"'],
    ["a.1", '{"a":[true,false]}', "false"],
    ["b", '{ "a" : -1.5e3 ,\n "b" : { "c" : [ ] } }\n', '{ "c" : [ ] }'],
  ])("%s of %s is %s", (path, document, value) => {
    expect(awk("get", path, document)).toBe(`${value}\n`);
  });

  test.each(["", "{", '{"a":"b', '{"a":1}}'])("rejects %j", (document) => {
    expect(() => awk("get", "a", document)).toThrow("not JSON");
  });
});

describe("json.awk before and after", () => {
  test.each([
    ['{"a":{"b":[]}}', { a: { b: [0] } }],
    ['{"a":{"b":[1,[2]]}}', { a: { b: [1, [2], 0] } }],
    ['{"a":{"b":null}}', { a: { b: [0] } }],
    ['{"a":{"c":"}"}}', { a: { c: "}", b: [0] } }],
    ['{"a":null,"c":1}', { a: { b: [0] }, c: 1 }],
    ['{"c":["a"]}', { c: ["a"], a: { b: [0] } }],
    ["{}", { a: { b: [0] } }],
    ['{ "a" : { "b" : [ ] } }\n', { a: { b: [0] } }],
  ])("make room in %s", (document, result) => {
    expect(JSON.parse(append("a.b", document, "0"))).toEqual(result);
  });

  test("reject a path that is not an array", () => {
    expect(() => awk("before", "a.b", '{"a":{"b":"c"}}')).toThrow("no room");
    expect(() => awk("after", "a.b", '{"a":[]}')).toThrow("no room");
  });

  test("change nothing else of any document", () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", " ", "a", "é", "\n", "\u001c") }),
      fc.constantFrom("desired", "resources", '"desired":{"resources":[', "\\", '\\"'),
    );
    const value = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.constantFrom(null, true, false, 0, -1.5e300),
        fc.array(tie("any"), { maxLength: 4 }),
        fc.dictionary(text, tie("any"), { maxKeys: 4 }),
      ),
    })).any;
    const desired = fc.record({ resources: fc.array(value), other: value }, { requiredKeys: [] });
    const document = fc.record({ first: value, desired, last: value }, { requiredKeys: ["desired"] });
    fc.assert(
      fc.property(document, text, (io, element) => {
        const printed = JSON.stringify(io);
        const { desired } = io;
        const expected = { ...io, desired: { ...desired, resources: [...(desired.resources ?? []), element] } };
        // Compare texts: JSON.parse mistakes some keys for others (https://github.com/nodejs/node/issues/63785).
        expect(append("desired.resources", printed, JSON.stringify(element))).toBe(`${JSON.stringify(expected)}\n`);
        expect(awk("get", "desired", printed)).toBe(`${JSON.stringify(desired)}\n`);
      }),
      // Each run starts awk three times.
      { numRuns: Number(process.env["XFN_FUZZ_RUNS"] ?? 30) },
    );
  });
});
