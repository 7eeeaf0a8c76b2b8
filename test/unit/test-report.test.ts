import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { beforeEach, expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// scripts/test-report.ts decides whether CI passes.
let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

interface Test {
  fullName: string;
  status: "passed" | "failed" | "skipped";
  meta?: { missing?: string };
}

function report(name: string, file: string, tests: Test[], message = ""): string {
  const failed = message !== "" || tests.some(({ status }) => status === "failed");
  const assertionResults = tests.map((each) => ({ meta: {}, ...each }));
  const result = { name: join(CHECKOUT, file), status: failed ? "failed" : "passed", message, assertionResults };
  writeFileSync(join(folder, name), JSON.stringify({ testResults: [result] }));
  return join(folder, name);
}

function run(...args: string[]): { status: number | null; last: string | undefined; stdout: string } {
  const program = join(CHECKOUT, "scripts/test-report.ts");
  const { status, stdout } = spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });
  return { status, last: stdout.trimEnd().split("\n").at(-1), stdout };
}

test("the last line has the totals of all reports", () => {
  const one = report("1.json", "test/e2e/a.test.ts", [
    { fullName: "works", status: "passed" },
    { fullName: "breaks", status: "failed" },
  ]);
  const two = report("2.json", "test/e2e/a.test.ts", [{ fullName: "works", status: "passed" }]);
  expect(run("--strict", one, two)).toMatchObject({ status: 1, last: "2 passed, 1 failed, 0 skipped" });
});

test("a skipped test fails a strict run, which prints the reason", () => {
  const path = report("1.json", "test/e2e/a.test.ts", [
    { fullName: "pulls", status: "skipped", meta: { missing: "crun is not installed" } },
  ]);
  const { status, last, stdout } = run("--strict", path);
  expect({ status, last }).toEqual({ status: 1, last: "0 passed, 0 failed, 1 skipped" });
  expect(stdout).toContain("skipped: test/e2e/a.test.ts pulls (crun is not installed)");
  expect(run(path).status).toBe(0);
});

test("a skip that test/host-skips lists passes a strict run", () => {
  const path = report("1.json", "test/e2e/examples.long.test.ts", [
    { fullName: "examples/go renders", status: "skipped" },
  ]);
  expect(run("--strict", path)).toMatchObject({ status: 0, last: "0 passed, 0 failed, 1 skipped" });
});

test("a test that runs as one user and is skipped as another counts as run", () => {
  const one = report("1.json", "test/e2e/a.test.ts", [{ fullName: "mounts", status: "skipped" }]);
  const two = report("2.json", "test/e2e/a.test.ts", [{ fullName: "mounts", status: "passed" }]);
  expect(run("--strict", one, two)).toMatchObject({ status: 0, last: "1 passed, 0 failed, 0 skipped" });
});

test("a file that fails to load counts as a failure", () => {
  const path = report("1.json", "test/e2e/a.test.ts", [], "Cannot find module");
  expect(run("--strict", path)).toMatchObject({ status: 1, last: "0 passed, 1 failed, 0 skipped" });
});

test.each([
  ["is missing", undefined],
  ["is empty", ""],
])("a report that %s fails a strict run", (_, content) => {
  const path = join(folder, "none.json");
  if (content !== undefined) writeFileSync(path, content);
  expect(run("--strict", path)).toMatchObject({ status: 1, last: "0 passed, 0 failed, 0 skipped" });
});
