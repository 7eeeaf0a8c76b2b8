import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readDocuments } from "@xfn/json/document";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";

interface Promised {
  readonly promise: string;
  /** The mechanism. */
  readonly by?: string;
  /** Titles of tests, or parts of them, by file. A file without titles holds the promise as a whole. */
  readonly tests: Readonly<Record<string, readonly string[]>>;
}

const read = (path: string): string => readFileSync(join(CHECKOUT, path), "utf8");

const [file] = readDocuments(read("test/security/promises.yaml"));
const bySection = file?.value as unknown as Readonly<Record<string, readonly Promised[]>>;
const promises = Object.values(bySection).flat();

test.each(promises)("tests hold: $promise", ({ tests }) => {
  expect(Object.keys(tests)).not.toEqual([]);
  for (const [file, titles] of Object.entries(tests)) {
    const source = read(file);
    for (const title of titles) expect(source).toContain(title);
  }
});

test("tests hold the promises of each section of docs/concepts/security-model.md, and of no other", () => {
  const headings = [...read("docs/concepts/security-model.md").matchAll(/^##+ (.*)$/gm)].map(([, title]) => title);
  expect([...Object.keys(bySection), "What is not promised"].toSorted()).toEqual(headings.toSorted());
});
