import { describe, expect, test } from "vitest";
import { unwrapLists } from "./lists.ts";
import { readDocuments } from "./read.ts";

const item = (name: string, more = ""): string =>
  `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${name}"}${more}}`;
const list = (kind: string, ...items: readonly string[]): string =>
  `{"apiVersion": "v1", "kind": "${kind}", "items": [${items.join(",\n")}]}`;

/** The kinds and names of what a text holds. */
function read(text: string): string[] {
  return unwrapLists(readDocuments(text)).map(({ value }) => {
    const { kind, metadata } = value as { kind?: string; metadata?: { name?: string } };
    return `${kind}/${metadata?.name}`;
  });
}

// The expected values are those of `kubectl label --local -f FILE` 1.32, except for nested lists, which it refuses.
test.each<[name: string, text: string, found: readonly string[]]>([
  ["a List", list("List", item("a"), item("b")), ["ConfigMap/a", "ConfigMap/b"]],
  ["a List in YAML", `apiVersion: v1\nkind: List\nitems:\n- &a ${item("a")}\n- *a`, ["ConfigMap/a", "ConfigMap/a"]],
  ["a typed list", list("ConfigMapList", '{"metadata": {"name": "a"}}', item("b")), ["ConfigMap/a", "ConfigMap/b"]],
  ["a nested list", list("List", list("List", item("a")), item("b")), ["ConfigMap/a", "ConfigMap/b"]],
  ["an empty list", list("List"), []],
  ["a list of null", '{"apiVersion": "v1", "kind": "List", "items": null}', []],
  ["lists and objects", `${item("a")}\n---\n${list("List", item("b"))}`, ["ConfigMap/a", "ConfigMap/b"]],
  ["an object of JSON after another", `${item("a")}${item("b")}\n\n${item("c")}\n`, "abc".split("").map(configMap)],
  ["JSON between separators", `---\n${item("a")}\n---\n---\n${item("b")}\n---\n`, ["ConfigMap/a", "ConfigMap/b"]],
  [
    "an empty document, a comment and null",
    `# c\n--- # d\n${item("a")}\n---\n# c\n---\n\n--- \nnull\n`,
    ["ConfigMap/a"],
  ],
  ["CRLF", "kind: A\r\nmetadata:\r\n  name: a\r\n---\r\nkind: B\r\nmetadata: {name: b}\r\n", ["A/a", "B/b"]],
  ["a byte order mark", `\ufeff${item("a")}`, ["ConfigMap/a"]],
  ["a byte order mark at each document", "\ufeffkind: A\n---\n\ufeffkind: B\n", ["A/undefined", "B/undefined"]],
  ["nothing", "\n\n", []],
])("%s", (_name, text, found) => {
  expect(read(text)).toEqual(found);
});

function configMap(name: string): string {
  return `ConfigMap/${name}`;
}

test("an object with items and a name, or with other items, is not a list", () => {
  expect(read('{"kind": "AllowList", "metadata": {"name": "a"}, "items": [{}]}')).toEqual(["AllowList/a"]);
  expect(read('{"kind": "List", "items": {}}')).toEqual(["List/undefined"]);
  expect(read('{"kind": "List"}')).toEqual(["List/undefined"]);
});

test("an item that is not an object stays, so that a reader can refuse it", () => {
  const [nothing, text] = unwrapLists(readDocuments(list("List", "null", '"x"')));
  expect([nothing?.value, text?.value]).toEqual([null, "x"]);
  expect(text?.positionOf([])).toEqual({ line: 2, column: 1 });
});

describe("positions are those in the text", () => {
  test("of an item", () => {
    const [, second] = unwrapLists(readDocuments(list("List", item("a"), item("b"))));
    expect(second?.positionOf(["metadata", "name"])).toEqual({ line: 2, column: 56 });
    expect(second?.positionsOf?.([[], ["kind"]])).toEqual([
      { line: 2, column: 1 },
      { line: 2, column: 22 },
    ]);
  });

  test("of an object in a stream", () => {
    const [, second, third] = readDocuments('{"a": 1} {"b":\n 2}\n{"c": {"d": 3}}');
    expect(second?.positionOf(["b"])).toEqual({ line: 1, column: 11 });
    expect(third?.positionOf(["c", "d"])).toEqual({ line: 3, column: 8 });
  });

  test.each([
    ['{"a": 1}\n{"b": 2,}', "Syntax", 2, 9],
    ['{"a": 1} {"b": 2} x', "Syntax", 1, 19],
    ['{"a": 1}\n{"b": 2, "b": 3}', "DuplicateKey", 2, 10],
    ['{"a": 1}\n{"b": "\\ud800"}', "NotJson", 2, 2],
  ])("of an error in a stream: %j", (text, code, line, column) => {
    let error: unknown;
    try {
      readDocuments(text);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ code, issues: [{ line, column }] });
  });
});

test("YAML that starts with a brace is YAML", () => {
  expect(readDocuments("{a: '}{', b: 1}").map(({ value }) => value)).toEqual([{ a: "}{", b: 1 }]);
  expect(readDocuments('{"a": 1}\n---\nb: 2\n').map(({ value }) => value)).toEqual([{ a: 1 }, { b: 2 }]);
});

describe("a stream of JSON", () => {
  const deep = (levels: number): string => `{"a":1} ${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

  test.each([
    ["values, all objects together", '{"a":1}'.repeat(20), { maxValues: 10 }, "TooManyValues", /more than 10/],
    ["size, all objects together", '{"a":1}'.repeat(20), { maxBytes: 100 }, "TooLarge", /larger than 100 bytes/],
    ["depth, each object alone", deep(501), {}, "TooDeep", /^1:2509: is nested deeper than 500$/],
    ["objects", "{}\n".repeat(100_001), {}, "TooManyValues", /^100001:1: is one of more than 100000 JSON objects/],
  ])("has a limit of %s", (_, text, limits, code, message) => {
    expect(() => readDocuments(text, { limits })).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  test("up to its limits is read whole", () => {
    expect(readDocuments(deep(500))).toHaveLength(2);
    expect(readDocuments("{}\n".repeat(100_000))).toHaveLength(100_000);
    expect(readDocuments("{}".repeat(3), { limits: { maxStreamedObjects: 3 } })).toHaveLength(3);
  });
});
