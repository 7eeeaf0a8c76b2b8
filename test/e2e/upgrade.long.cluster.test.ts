import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";

test("npm run upgrade:rehearse loses, recreates and writes nothing", needs("api-server"), async () => {
  const program = join(CHECKOUT, "scripts/upgrade-rehearse.ts");
  const child = spawn(process.execPath, [program, "--xrs", "50"], { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  await once(child, "close");
  expect(stderr).toContain("the rehearsal passed");
  expect(stderr.match(/0 lost, 0 recreated, 0 written/g)).toHaveLength(3);
});
