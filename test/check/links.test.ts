import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { files } from "./imports.ts";

const PAGES = files("*.md", "docs/**/*.md", "packages/*/README.md", "examples/**/*.md", "test/**/*.md");

test.each(PAGES)("the links of %s lead to files and headings", (page) => {
  const links = textOf(page).matchAll(/\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)/g);
  const broken = [...links].filter(([, path = "", anchor]) => {
    const target = path === "" ? page : normalize(join(dirname(page), path));
    if (!existsSync(join(CHECKOUT, target))) return true;
    return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

/** The text of a page without its blocks of code. */
function textOf(page: string): string {
  return readFileSync(join(CHECKOUT, page), "utf8").replaceAll(/^ *```[^]*?^ *```$/gm, "");
}

/** The anchors that GitHub gives headings, and those that a page sets. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = textOf(page);
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/\]\([^)]*\)/g, "")
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
  const repeated = headings.map((name, at) => {
    const before = headings.slice(0, at).filter((other) => other === name).length;
    return before === 0 ? name : `${name}-${before}`;
  });
  return new Set([...repeated, ...[...text.matchAll(/<a id="([^"]+)"/g)].map(([, id = ""]) => id)]);
}
