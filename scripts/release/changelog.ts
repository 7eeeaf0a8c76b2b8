import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { run } from "../image/downloads.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const UNRELEASED = "## [Unreleased]";

/** The changelog of a release: the unreleased changes become those of the version, with a date such as 2026-01-31. */
export function stampChangelog(text: string, version: string, date: string): string {
  const title = `## [${version}]`;
  if (text.includes(`\n${title}`)) return text;
  if (!text.includes(`\n${UNRELEASED}\n`)) throw new Error(`CHANGELOG.md has neither ${title} nor ${UNRELEASED}`);
  return text.replace(`\n${UNRELEASED}\n`, `\n${title} - ${date}\n`);
}

/** The changes of a version, without its title. */
export function releaseNotes(changelog: string, version: string): string {
  const [, after = ""] = changelog.split(`\n## [${version}]`);
  const [section = ""] = after.slice(after.indexOf("\n")).split("\n## [");
  return `${section.trim()}\n`;
}

/** The changelog of the checkout for a version, with the day of its commit: the same commit gives the same bytes. */
export function changelogOf(version: string): string {
  const date = run("git", ["show", "--no-patch", "--format=%cs", "HEAD"], ROOT);
  return stampChangelog(readFileSync(`${ROOT}CHANGELOG.md`, "utf8"), version, date.trim());
}
