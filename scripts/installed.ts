// Exits with 0 if node_modules matches package-lock.json on this platform. npm writes its record of the installation,
// node_modules/.package-lock.json, last: an installation that was killed has none.
//
// Usage: node scripts/installed.ts [--development]
// Without --development, packages that only development needs can be missing.
import { readFileSync } from "node:fs";
import process from "node:process";
import { isDeepStrictEqual } from "node:util";

type Packages = Record<string, { optional?: boolean; dev?: boolean; devOptional?: boolean; peer?: boolean }>;

const development = process.argv.includes("--development");

function packagesOf(path: string): Packages {
  return (JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as { packages: Packages }).packages;
}

function upToDate(): boolean {
  const wanted = packagesOf("../package-lock.json");
  const installed = packagesOf("../node_modules/.package-lock.json");
  const isOptional = ({ optional, dev, devOptional, peer }: Packages[string]): boolean =>
    optional === true || (!development && (dev === true || devOptional === true || peer === true));
  return (
    Object.entries(installed).every(([path, entry]) => isDeepStrictEqual(entry, wanted[path])) &&
    Object.entries(wanted).every(([path, entry]) => path === "" || path in installed || isOptional(entry))
  );
}

let answer = false;
try {
  answer = upToDate();
} catch {
  // No record: the installation is missing or incomplete.
}
process.exitCode = answer ? 0 : 1;
