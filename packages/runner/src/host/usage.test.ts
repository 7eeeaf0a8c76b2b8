import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { usageOf } from "./usage.ts";

test("counts the processor time of children that have ended", async () => {
  const busy = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
  const shell = spawn("sh", ["-c", `sh -c '${busy}'; echo done; read -r line`], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void shell.kill("SIGKILL"));
  await once(shell.stdout, "data");
  expect(usageOf(shell.pid ?? 0).cpuMs).toBeGreaterThanOrEqual(50);
});
