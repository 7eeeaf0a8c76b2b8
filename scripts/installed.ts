// Exits with 0 if node_modules matches package-lock.json on this platform. npm writes its record of the installation,
// node_modules/.package-lock.json, last: an installation that was killed has none.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

type Packages = Record<string, { optional?: boolean }>;

function packagesOf(path: string): Packages {
  return (JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as { packages: Packages }).packages;
}

function upToDate(): boolean {
  const wanted = packagesOf("../package-lock.json");
  const installed = packagesOf("../node_modules/.package-lock.json");
  return (
    Object.entries(installed).every(([path, entry]) => isDeepStrictEqual(entry, wanted[path])) &&
    Object.entries(wanted).every(([path, entry]) => path === "" || path in installed || entry.optional === true)
  );
}

let answer = false;
try {
  answer = upToDate();
} catch {
  // No record: the installation is missing or incomplete.
}
process.exitCode = answer ? 0 : 1;
