import { spawnSync } from "node:child_process";
import process from "node:process";
import { expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";

test("the generated code of proto/ is current, and proto/ passes buf's lint and format", () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["scripts/proto.ts", "--check"], {
    cwd: CHECKOUT,
    encoding: "utf8",
  });
  expect(`${stdout}${stderr}`).toBe("");
  expect(status).toBe(0);
});
