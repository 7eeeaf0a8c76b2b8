import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { fencedBlocks } from "../harness/fenced-blocks.ts";
import { CHECKOUT, CONTROLLER_MAIN } from "../harness/paths.ts";

const page = readFileSync(join(CHECKOUT, "docs/tasks/controller.md"), "utf8");
const settings = /^## Settings\n(.*)/ms.exec(page)?.[1] ?? "";
const flagsIn = (text: string): string[] => [...new Set(text.match(/--[a-z][a-z-]+/g))].toSorted();

test("docs/tasks/controller.md has a row for each flag of xfn-controller start, and no others", () => {
  const help = execFileSync(process.execPath, [CONTROLLER_MAIN, "start", "--help"], { encoding: "utf8" });
  const lines = help.split("\n").filter((line) => !line.includes("--help"));
  const options = lines.flatMap((line) => /^ {2}(--[a-z-]+)/.exec(line)?.[1] ?? []);
  const rows = settings.split("\n").flatMap((line) => flagsIn(/^\| (`--.*?) \|/.exec(line)?.[1] ?? ""));
  expect(rows.toSorted()).toEqual(options.toSorted());
});

const START = "./xfn-controller start";
const starts = fencedBlocks(page).flatMap(({ language, text }) =>
  language === "sh" && text.startsWith(START) ? [text] : [],
);

test("docs/tasks/controller.md starts the controller in blocks of sh, whose settings the next test checks", () => {
  expect(starts.length).toBeGreaterThanOrEqual(3);
});

test.each(starts)("the settings of %j are valid", (text) => {
  const program = `'${process.execPath}' '${CONTROLLER_MAIN}'`;
  const { status, stderr } = spawnSync("sh", ["-c", text.replace("./xfn-controller", () => program)], {
    encoding: "utf8",
    // The program reads the kubeconfig, which does not exist, once all settings are valid.
    env: { XDG_RUNTIME_DIR: "/run/user/1000", KUBECONFIG: "/nowhere/kubeconfig" },
  });
  expect(stderr).toContain("/nowhere/kubeconfig");
  expect(status).toBe(2);
});
