import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { json, object } from "../../testing/arbitraries.ts";
import { readDocuments } from "../document/read.ts";
import { DocumentError } from "../text/document-error.ts";
import { printJson } from "../text/print-json.ts";
import { firstDifference } from "../value/first-difference.ts";
import type { JsonValue } from "../value/json-value.ts";
import { printYaml } from "./print.ts";

test("prints as kubectl does", () => {
  const value: JsonValue = {
    apiVersion: "v1",
    kind: "List",
    metadata: { name: "x", labels: {}, annotations: { "example.org/note": "a: b" } },
    items: [{ data: { script: "#!/bin/sh\nexit 0\n", empty: "" }, ports: [80, [443]], none: null }, "last"],
    id: 9223372036854775807n,
  };
  expect(printYaml(value)).toBe(`apiVersion: v1
kind: List
metadata:
  name: x
  labels: {}
  annotations:
    example.org/note: 'a: b'
items:
- data:
    script: |
      #!/bin/sh
      exit 0
    empty: ""
  ports:
  - 80
  - - 443
  none: null
- last
id: 9223372036854775807
`);
});

test.each([
  "on",
  "Yes",
  "n",
  "null",
  "~",
  "0x1f",
  "1e3",
  "012",
  "08",
  "1_000",
  ".5",
  "22:22",
  "2001-01-01",
  "2024-01-01T00:00:00Z",
  "=",
  "<<",
  ".inf",
  "0o7",
])("%s as text is quoted", (text) => {
  expect(printYaml({ a: text })).toBe(`a: "${text}"\n`);
});

test.each([
  "x",
  "a-b",
  "http://x:80/y",
  "v1.2.3",
  "10.0.0.1",
  "a b",
  "registry.example.org/img:tag@sha256:0a",
  "it's",
  "é",
])("%s as text is plain", (text) => {
  expect(printYaml({ a: text })).toBe(`a: ${text}\n`);
});

test("text is never folded", () => {
  const text = "word ".repeat(100).trim();
  expect(printYaml({ a: text })).toBe(`a: ${text}\n`);
});

test("values that YAML cannot represent are errors", () => {
  expect(() => printYaml({ a: [Number.NaN] })).toThrow(DocumentError);
  expect(() => printYaml({ a: Infinity })).toThrow(DocumentError);
  expect(() => printYaml({ a: "\ud800" })).toThrow(DocumentError);
});

describe("round trips", () => {
  test("YAML: read(print(x)) is x", () => {
    fc.assert(
      fc.property(object(json), (value) => {
        expect(readDocuments(printYaml(value))[0]?.value).toEqual(value);
      }),
      { numRuns: 1000 },
    );
  });

  test("JSON, indented or not: read(print(x)) is x", () => {
    fc.assert(
      fc.property(object(json), fc.constantFrom(0, 2), (value, indent) => {
        expect(readDocuments(printJson(value, indent))[0]?.value).toEqual(value);
        // And as YAML, for which JSON is a style.
        expect(readDocuments(`---\n${printJson(value, indent)}`)[0]?.value).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  test("an integer that is a number beyond 2^53 keeps its value", () => {
    for (const print of [printJson, printYaml]) {
      expect(print([41538645226132408])).toContain("41538645226132408");
    }
  });

  test.each(["1.1", "1.2"] as const)("YAML %s readers see the same", (version) => {
    fc.assert(
      fc.property(object(json), (value) => {
        const theirs = parse(printYaml(value), { version, intAsBigInt: true }) as JsonValue;
        expect(firstDifference(theirs, value)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });
});

test("a script stays readable, tabs and empty lines included", () => {
  expect(printYaml({ a: "x:\n\ty  \n\n\n" })).toBe("a: |+\n  x:\n  \ty  \n\n\n");
});

test("text that looks like a document's marker is quoted", () => {
  expect(printYaml({ "--- a": "---" })).toBe("'--- a': '---'\n");
  expect(printYaml("... a")).toBe("'... a'\n");
});

test("text of many megabytes is printed", () => {
  const value = { a: "x y".repeat(4 * 1024 * 1024), b: [12345678901234567890n] };
  expect(readDocuments(printYaml(value))[0]?.value).toEqual(value);
});

describe("text on which a terminal acts", () => {
  const HOSTILE = [
    "a\u202eb",
    "\u2066x\u2069",
    "\u200f",
    "\u061cx",
    "\u009b31m",
    "\u001b[2J",
    "\u007f",
    "a\u2028b",
    "line\n\u202eline\n",
  ];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed
  const ACTS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

  test.each(HOSTILE)("%j is escaped in keys, values and items, and reads as before", (text) => {
    const value = { [text]: text, list: [text, { a: text }], plain: "x" };
    for (const printed of [printYaml(value), printJson(value, 2)]) {
      expect(printed).not.toMatch(ACTS);
      expect(readDocuments(printed)[0]?.value).toEqual(value);
    }
  });

  test("a text alone", () => {
    expect(printYaml("a\u202eb")).toBe('"a\\u202eb"\n');
  });

  test("text of any script stays as it is", () => {
    expect(printYaml({ a: "שלום مرحبا 数据 🙂" })).toBe("a: שלום مرحبا 数据 🙂\n");
  });
});
