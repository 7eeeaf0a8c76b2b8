// Summarises vitest's JSON reports: the skipped tests with their reasons, and, as the last line, the counts of passed,
// failed and skipped tests. A test that one report skips, because it needs root for example, and another runs counts as
// run.
//
// Usage: node scripts/test-report.ts [--strict] REPORT...
// --strict: fails on a failed test, on a missing report, and on a skipped test that test/host-skips does not list.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";

interface Report {
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: {
      fullName: string;
      status: string;
      failureMessages?: string[];
      meta: { missing?: string };
    }[];
  }[];
}

interface Allowed {
  pattern: RegExp;
  text: string;
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));

// Each line has a test's file and full name, with `*` as a wildcard, then ` # ` and the reason.
function allowedSkips(): Allowed[] {
  const lines = readFileSync(new URL("../test/host-skips", import.meta.url), "utf8").split("\n");
  return lines.flatMap((line) => {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) return [];
    const [pattern = "", reason = ""] = text.split(" # ", 2);
    if (reason === "") throw new Error(`test/host-skips: no reason given: ${text}`);
    const source = pattern.trim().split("*").map(RegExp.escape).join(".*");
    return [{ pattern: new RegExp(`^${source}$`), text }];
  });
}

const args = process.argv.slice(2);
const strict = args.includes("--strict");
const paths = args.filter((arg) => arg !== "--strict");
const allowed = allowedSkips();

const counts = { passed: 0, failed: 0 };
const ran = new Set<string>();
const skips = new Map<string, string>();
const problems: string[] = [];

for (const path of paths) {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  if (text === "") {
    problems.push(`no report: ${path} (the tests did not get as far as that)`);
    continue;
  }
  const report = JSON.parse(text) as Report;
  for (const file of report.testResults) {
    const fileName = relative(ROOT, file.name).replace(/^(\.\.\/)+.*?\/(?=(packages|test|examples)\/)/, "");
    const failed = file.assertionResults.filter((test) => test.status === "failed").length;
    counts.failed += failed;
    // A file that fails to load, or whose hooks fail, has no failed test in the report.
    if (file.status === "failed" && failed === 0) {
      counts.failed += 1;
      problems.push(`${fileName}: ${file.message}`);
    }
    for (const test of file.assertionResults) {
      const name = `${fileName} ${test.fullName}`;
      if (test.status === "passed") counts.passed += 1;
      // Repeat it at the end, where readers of a long log look first.
      if (test.status === "failed") problems.push(`${name}: ${test.failureMessages?.[0] ?? "failed"}`);
      if (test.status === "passed" || test.status === "failed") ran.add(name);
      else skips.set(name, test.meta.missing ?? "no reason given");
    }
  }
}

for (const name of ran) skips.delete(name);
for (const [name, reason] of skips) {
  const listed = allowed.some(({ pattern }) => pattern.test(name));
  console.log(`skipped: ${name} (${reason})${strict && !listed ? " - NOT LISTED in test/host-skips" : ""}`);
  if (!listed) problems.push(`skipped, and not listed in test/host-skips: ${name} (${reason})`);
}
if (strict) {
  for (const problem of problems) console.log(`problem: ${problem}`);
  if (problems.length > 0 || counts.failed > 0) process.exitCode = 1;
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${skips.size} skipped`);
