import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { fencedBlocks } from "../harness/fenced-blocks.ts";
import { CHECKOUT, CONTROLLER_MAIN } from "../harness/paths.ts";

const page = readFileSync(join(CHECKOUT, "docs/tasks/controller.md"), "utf8");
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
