import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { json, object } from "../../testing/arbitraries.ts";
import { readDocuments } from "../document/read.ts";
import { DocumentError } from "../text/document-error.ts";
import { firstDifference } from "../value/first-difference.ts";
import type { JsonValue } from "../value/json-value.ts";

function read(text: string): JsonValue[] {
  return readDocuments(text).map((document) => document.value);
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

/** The value that the yaml library reads; undefined if it cannot read its own output. */
function theirReading(text: string): JsonValue | undefined {
  try {
    return parse(text, { version: "1.1", schema: "yaml-1.1", intAsBigInt: true }) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Cases by what they are about: YAML, and the JSON that it means. */
const CASES: readonly [string, string, unknown][] = [
  ["a mapping", "a: 1\nb: x\n", { a: 1, b: "x" }],
  ["an empty value", "a:\nb: 1", { a: null, b: 1 }],
  ["nested mappings", "a:\n  b:\n    c: 1\n  d: 2\ne: 3", { a: { b: { c: 1 }, d: 2 }, e: 3 }],
  ["a sequence as little indented as its key", "a:\n- 1\n- 2\nb: 3", { a: [1, 2], b: 3 }],
  ["a sequence indented below its key", "a:\n  - 1\n  - 2\nb: 3", { a: [1, 2], b: 3 }],
  [
    "mappings in a sequence",
    "- a: 1\n  b: 2\n-   c: 3\n    d: 4\n-\n  e: 5",
    [{ a: 1, b: 2 }, { c: 3, d: 4 }, { e: 5 }],
  ],
  ["sequences in a sequence", "- - 1\n  - 2\n-\n  - 3\n- []", [[1, 2], [3], []]],
  ["an item that is null", "- \n- ~\n-\n", [null, null, null]],
  ["comments", "# top\na: 1 # one\n  # between\nb: # two\n  c: x#y\n# end", { a: 1, b: { c: "x#y" } }],
  ["plain text over several lines", "a: one\n  two\n\n  three\nb: x", { a: "one two\nthree", b: "x" }],
  [
    "plain text with colons and dashes",
    "a: http://x:80/a-b\nb: -x\nc: a:b\nd: ?x\ne: :x",
    { a: "http://x:80/a-b", b: "-x", c: "a:b", d: "?x", e: ":x" },
  ],
  ["text that begins like a sequence on a later line", "a: x\n  - y", { a: "x - y" }],
  ["single quotes", "a: 'it''s'\nb: 'x\n  y\n\n  z'\nc: ''", { a: "it's", b: "x y\nz", c: "" }],
  [
    "double quotes",
    'a: "\\t\\"\\u00e9\\x41\\U0001F600\\/\\e"\nb: "x \\\n  y\n  z\\n"\nc: ""',
    { a: '\t"éA😀/\x1b', b: "x y z\n", c: "" },
  ],
  ["a literal", "a: |\n  x\n    y\n\n  z\nb: 1", { a: "x\n  y\n\nz\n", b: 1 }],
  ["chomping", "a: |-\n  x\n\nb: |+\n  x\n\nc: |\n  x\n\nd: |-\n", { a: "x", b: "x\n\n", c: "x\n", d: "" }],
  ["an indentation indicator", "a: |2\n    x\n   y\nb: |1-\n  z", { a: "  x\n y\n", b: " z" }],
  [
    "a folded scalar",
    "a: >\n  x\n  y\n\n  z\n    more\n  w\nb: >-\n  x\n\n\n  y",
    { a: "x y\nz\n  more\nw\n", b: "x\n\ny" },
  ],
  ["a block scalar in a sequence", "- |\n  x\n- >-\n  y\n  z\n", ["x\n", "y z"]],
  ["a block scalar at the top", "|\n x\n y\n", "x\ny\n"],
  [
    "comment-like lines in a literal",
    "a: |\n  # no comment\n  --- no marker\nb: 1",
    { a: "# no comment\n--- no marker\n", b: 1 },
  ],
  [
    "flow collections",
    "a: [1, two, 'three', [4], {b: 5}, ]\nc: {d: 6, 'e': [7], f, g: }",
    { a: [1, "two", "three", [4], { b: 5 }], c: { d: 6, e: [7], f: null, g: null } },
  ],
  ["flow over several lines", "a: [\n  1, # one\n  2\n]\nb: {\n  c: x\n    y,\n}\n", { a: [1, 2], b: { c: "x y" } }],
  ["a pair in a flow sequence", "[a: 1, b, 'c': 2]", [{ a: 1 }, "b", { c: 2 }]],
  ["a colon right after a quoted key", '{"a":1,"b":{"c":2}, d: x:y}', { a: 1, b: { c: 2 }, d: "x:y" }],
  ["JSON as YAML", '---\n{"a": [true, null, 1.5e3, "x\\ny"], "b": {}}', { a: [true, null, 1500, "x\ny"], b: {} }],
  ["explicit keys", "? a\n: 1\n? b\n? 'c d'\n: - 2\n  - 3\n", { a: 1, b: null, "c d": [2, 3] }],
  [
    "aliases",
    "a: &x {k: [1]}\nb: *x\nc: &y text\nd: *y\n*y : e",
    { a: { k: [1] }, b: { k: [1] }, c: "text", d: "text", text: "e" },
  ],
  ["an anchor on a mapping, and on a key", "a: &m\n  b: 1\n&k c: *m\nd: *k", { a: { b: 1 }, c: { b: 1 }, d: "c" }],
  ["an anchor that is set again", "a: &x 1\nb: *x\nc: &x 2\nd: *x", { a: 1, b: 1, c: 2, d: 2 }],
  [
    "merge keys",
    "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\na:\n  <<: *b\n  y: 5\nc:\n  <<: [*b, *m]\nd: {'<<': 1}",
    { base: { x: 1, y: 2 }, more: { y: 3, z: 4 }, a: { y: 5, x: 1 }, c: { x: 1, y: 2, z: 4 }, d: { "<<": 1 } },
  ],
  [
    "core tags",
    "a: !!str 1\nb: !!int '2'\nc: !!float 3\nd: ! 4\ne: !!map {}\nf: !!seq\n- 1\ng: !!null\nh: !<tag:yaml.org,2002:bool> yes\ni: !!str",
    { a: "1", b: 2, c: 3, d: "4", e: {}, f: [1], g: null, h: true, i: "" },
  ],
  ["a tag with a declared handle", "%TAG !y! tag:yaml.org,2002:\n---\na: !y!str 1", { a: "1" }],
  [
    "keys as they are written",
    "8080: a\non: b\n0x10: c\ntrue: d\n1.0: e\n'~': f",
    { "8080": "a", on: "b", "0x10": "c", true: "d", "1.0": "e", "~": "f" },
  ],
  [
    "keys that are not JSON values",
    "{NaN: a, undefined: [{Infinity: b}]}",
    { NaN: "a", undefined: [{ Infinity: "b" }] },
  ],
  ["tabs between tokens", "a:\tb\t# c\nd: [\t1,\t2 ]", { a: "b", d: [1, 2] }],
  ["Windows line ends", "a: 1\r\nb:\r\n- x\r\nc: |\r\n  y\r\n  z\r\n", { a: 1, b: ["x"], c: "y\nz\n" }],
  ["no line end at the end of a literal", "a: |\n  x", { a: "x" }],
];

describe("the meaning of documents", () => {
  test.each(CASES)("%s", (_name, text, value) => {
    expect(read(text)).toEqual([value]);
  });

  test("documents, markers and directives", () => {
    expect(read("%YAML 1.2\n---\na: 1\n...\n# between\n---\n- b\n--- c\n---\n...\n")).toEqual([{ a: 1 }, ["b"], "c"]);
    expect(read("a: 1\n---\nb: 2\n")).toEqual([{ a: 1 }, { b: 2 }]);
    expect(read("--- |\n x\n--- {a: b}")).toEqual(["x\n", { a: "b" }]);
    expect(read("---\n---\n# nothing\n---\nnull\n")).toEqual([]);
  });
});

describe("scalars are resolved as in Kubernetes", () => {
  test.each<[string, JsonValue]>([
    ["yes", true],
    ["Off", false],
    ["y", true],
    ["N", false],
    ["TRUE", true],
    ["yEs", "yEs"],
    ["~", null],
    ["Null", null],
    ["nUll", "nUll"],
    ["0", 0],
    ["-0", 0],
    ["+12", 12],
    ["012", 10],
    ["08", 8],
    ["0o17", 15],
    ["0x1F", 31],
    ["-0b11", -3],
    ["1_000", 1000],
    ["0xg", "0xg"],
    ["1e3", 1000],
    ["1.5e-3", 0.0015],
    [".5", 0.5],
    ["5.", 5],
    [".", "."],
    ["1.2.3", "1.2.3"],
    ["-", "-"],
    ["9007199254740993", 9007199254740993n],
    ["0xffffffffffffffff", 18446744073709551615n],
    ["12e4567", "12e4567"],
    ["1e", "1e"],
    ["22:22", "22:22"],
    ["2001-01-01", "2001-01-01"],
    ["2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"],
    ["=", "="],
  ])("%s", (text, value) => {
    if (text === "-") expect(read("['-']")).toEqual([["-"]]);
    else expect(read(`a: ${text}`)).toEqual([{ a: value }]);
    expect(read(`a: '${text}'`)).toEqual([{ a: text }]);
  });
});

describe("refused texts, and positions", () => {
  test.each<[string, string, number, number]>([
    ["a value after a value", "a: 'x' y", 1, 8],
    ["a mapping on the line of its key", "a: b: c", 1, 5],
    ["a sequence on the line of its key", "a: - b", 1, 4],
    ["an entry that is indented too much", "a: 1\n  b: 2", 2, 4],
    ["an entry that is indented too little", "a:\n    b: 1\n  c: 2", 3, 3],
    ["a key without a colon", "a: 1\nb\nc: 2", 3, 2],
    ["a sequence that turns into a mapping", "- a\nb: 1", 2, 1],
    ["a mapping that turns into a sequence", "a: 1\n- b", 2, 1],
    ["a tab as indentation", "a:\n\tb: 1", 2, 1],
    ["a flow sequence that is never closed", "a: [1,\nb: 2\n", 3, 1],
    ["a missing comma", "a: [1 2, 'x' 'y']", 1, 14],
    ["a bracket that closes nothing", "a: ]", 1, 4],
    ["a quote that is never closed", "a: 1\nb: 'x\nc: 2\n", 2, 4],
    ["a quoted text beyond its document", "a: 'x\n---\ny'", 1, 4],
    ["an unknown escape", 'a: "\\q"', 1, 6],
    ["a bad escape", 'a: "\\u12"', 1, 9],
    ["an alias without an anchor", "a: *x", 1, 4],
    ["an anchor without a name", "a: & b", 1, 5],
    ["two anchors", "a: &x &y b", 1, 7],
    ["an alias with an anchor", "a: &x 1\nb: &y *x", 2, 7],
    ["a reserved character", "a: @x", 1, 4],
    ["text after a block scalar's header", "a: | x\n  y", 1, 6],
    ["an empty line with more spaces than the text", "a: |\n     \n  x", 3, 3],
    ["a directive without a document", "%YAML 1.2\n", 2, 1],
    ["a version that is not YAML 1", "%YAML 2.0\n---\n", 2, 1],
    ["an undeclared tag handle", "a: !x!y b", 1, 8],
    ["a control character", "a: x\x07", 1, 5],
    ["something after a document", "a: 1\n... b", 2, 5],
  ])("%s", (_name, text, line, column) => {
    expect(failure(text)).toMatchObject({ code: "Syntax", issues: [{ line, column }] });
  });

  test.each<[string, string]>([
    ["a list as a key", "? [a]\n: b"],
    ["a list as a flow key", "{[a]: b}"],
    ["a mapping as a key", "{a: b}: c"],
    ["null as a key", "~: a"],
    ["merging a text", "<<: x"],
  ])("keys that JSON cannot have: %s", (_name, text) => {
    expect(failure(text).code).toBe("Invalid");
  });

  test("several problems are found in one reading", () => {
    const { issues } = failure("a: 1\na: 2\nb: !x 3\nc: .nan\n");
    expect(issues.map(({ line }) => line)).toEqual([2, 3, 4]);
  });
});

describe("positions", () => {
  const [document] = readDocuments("# c\na:\n- b: 1\n  c: [x, {y: z}]\n'd e': &q\n  f: 1\n");
  test.each<[(string | number)[], number, number]>([
    [[], 2, 1],
    [["a"], 2, 1],
    [["a", 0], 3, 3],
    [["a", 0, "c"], 4, 3],
    [["a", 0, "c", 0], 4, 7],
    [["a", 0, "c", 1, "y"], 4, 11],
    [["d e", "f"], 6, 3],
    [["a", 0, "missing"], 3, 3],
    [["a", 7], 2, 1],
  ])("%j", (path, line, column) => {
    expect(document?.positionOf(path)).toEqual({ line, column });
  });

  test("each document knows its own", () => {
    const [first, second] = readDocuments("a: 1\n---\nb: 2\na: 3\n");
    expect(first?.positionOf(["a"])).toEqual({ line: 1, column: 1 });
    expect(second?.positionOf(["a"])).toEqual({ line: 4, column: 1 });
  });

  test("JSON has them too", () => {
    const [json] = readDocuments('{"a": [1,\n {"b": 2}]}');
    expect(json?.positionOf(["a", 1, "b"])).toEqual({ line: 2, column: 3 });
    expect(json?.positionOf(["a", 1, "x"])).toEqual({ line: 2, column: 2 });
  });
});

describe("compared with the yaml library", () => {
  test("reads its own output, in every style", () => {
    const style = fc.record({
      collectionStyle: fc.constantFrom<"any" | "flow">("any", "flow"),
      defaultStringType: fc.constantFrom<"PLAIN" | "QUOTE_DOUBLE" | "QUOTE_SINGLE" | "BLOCK_LITERAL" | "BLOCK_FOLDED">(
        "PLAIN",
        "QUOTE_DOUBLE",
        "QUOTE_SINGLE",
        "BLOCK_LITERAL",
        "BLOCK_FOLDED",
      ),
      defaultKeyType: fc.constantFrom<"PLAIN" | "QUOTE_DOUBLE" | "QUOTE_SINGLE">(
        "PLAIN",
        "QUOTE_DOUBLE",
        "QUOTE_SINGLE",
      ),
      indent: fc.constantFrom(1, 2, 4),
      indentSeq: fc.boolean(),
      lineWidth: fc.constantFrom(0, 20, 80),
    });
    fc.assert(
      fc.property(object(json), style, (value, options) => {
        // Skips values that the library itself reads differently from its input, because of its own bugs.
        const text = stringify(value, { ...options, version: "1.1", schema: "yaml-1.1", aliasDuplicateObjects: false });
        fc.pre(firstDifference(theirReading(text), value) === undefined);
        // Go's octal, and a power of ten with an underscore: Kubernetes reads them as numbers, and YAML 1.1 has
        // neither.
        fc.pre(!/0[oO]|[eE][-+]?[0-9]*_/.test(text));
        // Rejected instead of a JSON value: some writers of JSON print these words, and do not mean text.
        fc.pre(!/[:[,]\s*(?:NaN|[+-]?Infinity|undefined)\s*[\]},]/.test(text));
        // Where it folds a line it may fold a character beyond 16 bits in two.
        fc.pre(text.isWellFormed());
        fc.pre(!/[\0-\x08\x0b\x0c\x0e-\x1f]/.test(text));
        const [ours] = read(text);
        expect(firstDifference(ours ?? {}, value)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });
});
