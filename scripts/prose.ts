// Checks the English of comments, messages, test titles and documentation: npm run check:prose.
//
// The rules are from the style guide in CONTRIBUTING.md:
//
// - no sentence over 25 words
// - no words for which the field has a term (docs/reference/glossary.md)
// - no comments without a subject, and none that repeat the name below
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { problemsInPage } from "./prose/pages.ts";
import { problemsInSource } from "./prose/sources.ts";

const ROOT = join(import.meta.dirname, "..");
/** They have the words that the check looks for. */
const EXEMPT: readonly string[] = ["scripts/prose/words.ts", "test/unit/prose.test.ts", "CHANGELOG.md"];

const SOURCES = ["packages/**/*.ts", "test/**/*.ts", "scripts/**/*.ts", "examples/**/*.ts"];
const PAGES = ["*.md", "docs/**/*.md", "packages/*/README.md", "examples/**/*.md", "proto/*.md", "test/**/*.md"];

const only = process.argv.slice(2);
const skipped = ["**/node_modules/**", "**/dist/**", "**/testdata/**", "**/generated/**"];

function problemsIn(patterns: readonly string[], check: (file: string, source: string) => string[]): string[] {
  return globSync(patterns, { cwd: ROOT, exclude: skipped })
    .filter((file) => !EXEMPT.includes(file))
    .filter((file) => only.length === 0 || only.some((prefix) => file.startsWith(prefix)))
    .toSorted()
    .flatMap((file) => check(file, readFileSync(join(ROOT, file), "utf8")));
}

const problems = [...problemsIn(SOURCES, problemsInSource), ...problemsIn(PAGES, problemsInPage)];
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${problems.length === 0 ? "no" : problems.length} problems of prose\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
