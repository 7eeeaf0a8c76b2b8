import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";

const page = readFileSync(join(CHECKOUT, "docs/concepts/security-model.md"), "utf8");

/** The tests that the page names: a file in backquotes, then titles or parts of titles in quotes. */
function namedTests(line: string): { file: string; titles: string[] }[] {
  return [...line.matchAll(/`([\w./-]+\.test\.ts)`((?:[;,]? "[^"]+")+)/g)].map(([, file = "", titles = ""]) => ({
    file,
    titles: [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title),
  }));
}

const lines = page.split("\n");
const named = lines.flatMap(namedTests);

test.each(named)("$file has the tests that the security model names: $titles", ({ file, titles }) => {
  const source = readFileSync(join(CHECKOUT, file), "utf8");
  for (const title of titles) expect(source).toContain(title);
});

test("every promise of the security model names a test", () => {
  const rows = tables(lines).filter(({ header }) => header.startsWith("| promise |"));
  expect(rows.length).toBeGreaterThan(40);
  for (const { row } of rows) expect([row, namedTests(row).length]).not.toContain(0);
});

/** The rows of all tables, each with its table's header. */
function tables(all: readonly string[]): { header: string; row: string }[] {
  const rows: { header: string; row: string }[] = [];
  let header: string | undefined;
  for (const line of all) {
    if (!line.startsWith("|")) header = undefined;
    else if (header === undefined) header = line;
    else if (!line.startsWith("|---")) rows.push({ header, row: line });
  }
  return rows;
}
