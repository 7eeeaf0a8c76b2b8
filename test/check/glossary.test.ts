import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";

const page = readFileSync(join(CHECKOUT, "docs/reference/glossary.md"), "utf8");
const terms = [...page.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, term = ""]) => term);

test("docs/reference/glossary.md lists each term once, in alphabetical order", () => {
  expect(terms.length).toBeGreaterThan(100);
  // Letters alone count, so that "back-off" follows "back" and backquotes do not move a name.
  const letters = terms.map((term) =>
    term
      .toLowerCase()
      .replaceAll("-", " ")
      .replaceAll(/[^a-z ]/g, ""),
  );
  expect(letters).toEqual([...new Set(letters)].toSorted());
});
