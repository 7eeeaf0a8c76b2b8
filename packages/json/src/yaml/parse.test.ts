import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { json } from "../../testing/arbitraries.ts";
import { type ParsedDocument, readDocuments } from "../document/read.ts";
import { DocumentError } from "../text/document-error.ts";
import { isObject, type JsonValue } from "../value/json-value.ts";

function read(text: string): ParsedDocument {
  const [document] = readDocuments(text);
  if (document === undefined) throw new Error("was empty");
  return document;
}

function failure(text: string): DocumentError {
  try {
    read(text);
  } catch (error) {
    if (error instanceof DocumentError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

describe("brackets and quoted text go on at any column, as Kubernetes reads them", () => {
  test.each<[string, string, JsonValue]>([
    ["a bracket under its key", "a:\n  b: [\n    1,\n  ]\n  c: 2\n", { a: { b: [1], c: 2 } }],
    ["a brace under its list item", "- {\n  a: 1\n}\n- 2\n", [{ a: 1 }, 2]],
    ["items left of their key", "a:\n  b: [\n1,\n2\n]\n", { a: { b: [1, 2] } }],
    ["brackets in brackets", "a: [{\n  b: [\n1\n]\n}, {\n}]\nc: 3", { a: [{ b: [1] }, {}], c: 3 }],
    ["a comment in between", "a: [ # one ]\n1, # two ]\n# three ]\n]\n", { a: [1] }],
    ["a key far to the right", `${" ".repeat(200)}a: [\n1\n]`, { a: [1] }],
    ["quoted text", "a: 'x\ny'\nb: \"x\n\n  y\"\n", { a: "x y", b: "x\ny" }],
    ["tabs as indentation", 'a: {\n\t"b": [\n\t\t1\n\t]\n}', { a: { b: [1] } }],
    ["tabs inside a line", "a:\t[\t1,\t{ b:\t2 }\t]", { a: [1, { b: 2 }] }],
    ["a tab that is text", 'a:\t[ "x\ty",\n"\t[" ]', { a: ["x\ty", "\t["] }],
    ["similar lines in a block", "a: |\n  [\n  ]\nb: [\n]\n", { a: "[\n]\n", b: [] }],
  ])("%s", (_name, text, value) => {
    expect(read(text).value).toEqual(value);
  });

  test("for any value and any line breaks", () => {
    const space = fc.constantFrom("", " ", "\n", "\n  ", "\n\t", "\n        ", " # ]\n", "\t", "\n\n");
    fc.assert(
      fc.property(json, fc.infiniteStream(space), fc.constantFrom("", "  ", "- "), (value, spaces, lead) => {
        const text = `${lead}k: ${flow(value, () => spaces.next().value ?? "")}\n${lead}l: 1`;
        // Flow-style lines that begin with `---` end the document for all readers.
        const entry = { k: value, l: 1 };
        expect(readDocuments(text)[0]?.value).toEqual(lead === "- " ? [{ k: value }, { l: 1 }] : entry);
      }),
      { numRuns: 300 },
    );
  });

  test("positions refer to the original text", () => {
    const document = read("a: [\n1,\n{b: 2}\n]\nc: 3\n");
    expect(document.positionOf(["a", 1, "b"])).toEqual({ line: 3, column: 2 });
    expect(document.positionOf(["c"])).toEqual({ line: 5, column: 1 });
    expect(failure("a: [\n1, !x 2\n]\n").issues).toMatchObject([{ line: 2, column: 4 }]);
    expect(failure("a: [\n1, 2\n]\nb: c: d").issues).toMatchObject([{ line: 4, column: 5 }]);
  });

  test("a document's end marker ends them", () => {
    expect(failure("a: [\n---\n]").code).toBe("Syntax");
    expect(failure('a: "x\n... \ny"').code).toBe("Syntax");
  });
});

describe("hostile text", () => {
  test.each<[string, string]>([
    ["sequences", "[".repeat(100_000)],
    ["flow mappings", "{a: ".repeat(100_000)],
    ["sequences on one line", "- ".repeat(100_000)],
    ["explicit keys", "? ".repeat(100_000)],
    ["indented mappings", Array.from({ length: 2000 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n")],
    ["anchored sequences", "[&a ".repeat(100_000)],
    ["sequences as keys", "? - ".repeat(100_000)],
  ])("%s without end are too deep", (_name, text) => {
    expect(failure(`k:\n ${text}`).code).toBe("TooDeep");
  });

  test("exactly the limit is read, one more is not", () => {
    const limits = { maxDepth: 20 };
    for (const [open, close] of [
      ["[", "]"],
      ["{a: ", "}"],
      ["- ", ""],
    ] as const) {
      const nested = (depth: number): string => `---\n${open.repeat(depth)}1${close.repeat(depth)}`;
      expect(readDocuments(nested(20), { limits })).toHaveLength(1);
      expect(() => readDocuments(nested(21), { limits })).toThrow(/nested deeper than 20/);
    }
  });

  test.each([
    ["plain keys", (key: number) => `k${key}: 1`],
    ["keys in double quotes", (key: number) => `"${key}":1`],
    ["keys in single quotes", (key: number) => `'${key}':1`],
  ])("the number of values is bounded: %s", (_name, field) => {
    const entries = Array.from({ length: 30 }, (_, index) => field(index));
    // More text than values, so that the values are counted.
    const text = `${"# comment\n".repeat(10)}{${entries.join("\n,")}}`;
    // Without the colons, 30 entries would count as 30.
    const limits = { maxYamlValues: 45 };
    expect(() => readDocuments(text, { limits })).toThrow(expect.objectContaining({ code: "TooManyValues" }));
    expect(readDocuments(text, { limits: { maxYamlValues: 200 } })).toHaveLength(1);
  });

  test("YAML too large for memory is refused, JSON of that size is not", () => {
    const list = `[${"1,".repeat(9 * 1024 * 1024)}1]`;
    expect(failure(`---\n${list}`).code).toBe("TooLarge");
    const { code, message } = failure(`---\n${list.slice(list.length / 2)}`);
    expect([code, message]).toEqual([
      "TooManyValues",
      expect.stringMatching(/write it as JSON, which has no such limit$/),
    ]);
    expect(read(list).value).toHaveLength(9 * 1024 * 1024 + 1);
  });

  test("places that an alias fills share nothing", () => {
    const { value } = read("a: &x {k: [1]}\nb: *x\nc: {<<: *x}\n");
    const { a, b, c } = value as Record<string, { k: JsonValue[] }>;
    a?.k.push(2);
    b?.k.push(3);
    expect(c?.k).toEqual([1]);
    expect(b?.k).toEqual([1, 3]);
  });

  test("errors do not quote the refused text", () => {
    const error = failure("password: hunter2\nb: c: d");
    expect(`${error.stack}${JSON.stringify(error)}${String(error.cause)}`).not.toContain("hunter2");
  });
});

/** A value in flow style with white space between its tokens. */
function flow(value: JsonValue, space: () => string): string {
  if (Array.isArray(value))
    return `[${value.map((item) => space() + flow(item, space) + space()).join(",")}${space()}]`;
  if (!isObject(value)) return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([key, item]) => `${space()}${JSON.stringify(key)}: ${space()}${flow(item, space)}${space()}`,
  );
  return `{${fields.join(",")}${space()}}`;
}
