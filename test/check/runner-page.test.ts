import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { CHECKOUT, RUNNER_MAIN } from "../harness/paths.ts";

const page = readFileSync(join(CHECKOUT, "docs/tasks/runner.md"), "utf8");
const settings = /^## Settings\n(.*?)^## /ms.exec(page)?.[1] ?? "";
const flagsIn = (text: string): string[] => [...new Set(text.match(/--[a-z][a-z-]+/g))].toSorted();

test("docs/tasks/runner.md has a row for each flag of xfn-runner serve, and for no other", () => {
  const help = execFileSync(process.execPath, [RUNNER_MAIN, "serve", "--help"], { encoding: "utf8" });
  const lines = help.split("\n").filter((line) => !line.includes("--help"));
  const options = lines.flatMap((line) => /^ {2}(?:-\w, )?(--[a-z-]+)/.exec(line)?.[1] ?? []);
  const rows = settings.split("\n").flatMap((line) => flagsIn(/^\| (`--.*?) \|/.exec(line)?.[1] ?? ""));
  expect(rows.toSorted()).toEqual(options.toSorted());
});
