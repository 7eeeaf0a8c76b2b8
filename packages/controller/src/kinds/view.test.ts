import { expect, test } from "vitest";
import { defineKind } from "./define-kind.ts";
import { choice, integer, list, record, text, textMap, texts } from "./fields.ts";

const KIND = defineKind({
  group: "example.org",
  kind: "Sample",
  versions: ["v1"],
  about: "A Sample is a sample.",
  fields: {
    "spec!": record("spec is the spec.", {
      "name!": text("name is the name."),
      mode: choice("mode is the mode.", ["A", "B"]),
      size: integer("size is the size."),
      labels: textMap("labels are the labels."),
      words: texts("words are the words."),
      items: list("items are the items.", { key: text("key is the key.") }),
      owner: record("owner is the owner.", { name: text("name is the owner's name.") }),
    }),
  },
});

test("fields are read with their types", () => {
  const spec = { name: "a", mode: "A", size: 3n, labels: { a: "b" }, words: ["x"], items: [{ key: "k" }], owner: {} };
  const read = KIND.of({ spec }).spec;
  expect({ name: read.name, mode: read.mode, size: read.size }).toEqual({ name: "a", mode: "A", size: 3 });
  expect([read.labels, read.words, read.items.map(({ key }) => key)]).toEqual([{ a: "b" }, ["x"], ["k"]]);
  expect(read.toJSON()).toBe(spec);
});

test("absent fields, and those of another type, are as if they were not there", () => {
  const wrong = { name: 1, mode: "C", size: "3", labels: { a: 1 }, words: [1, "x"], items: ["k"], owner: "me" };
  for (const object of [undefined, {}, { spec: [] }, { spec: wrong }]) {
    const { name, mode, size, labels, items, owner } = KIND.of(object).spec;
    expect({ name, mode, size, labels, items, owner: owner.name }).toEqual({ labels: {}, items: [] });
  }
  expect(KIND.of({ spec: wrong }).spec.words).toEqual(["x"]);
  expect(KIND.of({ spec: JSON.parse('{"__proto__": {"name": "a"}}') }).spec.name).toBeUndefined();
});
