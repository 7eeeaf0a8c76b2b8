import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { objectAt } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import { expect, test } from "vitest";
import { objectsOf } from "../harness/helm.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { promtool } from "../harness/promtool.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

const TESTS = join(CHECKOUT, "test/monitoring/alerts.promtool.yaml");

test("the alerts fire for their causes alone, by promtool", needs("promtool"), () => {
  const [rule = {}] = objectsOf(readFileSync(join(CHECKOUT, "deploy/monitoring/alerts.yaml"), "utf8"));
  const folder = temporaryFolder();
  writeFileSync(join(folder, "rules.yaml"), printYaml(objectAt(rule, "spec")));
  copyFileSync(TESTS, join(folder, "tests.yaml"));
  for (const args of [
    ["check", "rules", "rules.yaml"],
    ["test", "rules", "tests.yaml"],
  ]) {
    const { status, stdout, stderr } = spawnSync(promtool(), args, { cwd: folder, encoding: "utf8" });
    expect(status, `${stdout}${stderr}`).toBe(0);
  }
});
