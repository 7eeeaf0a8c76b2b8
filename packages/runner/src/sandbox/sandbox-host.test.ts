import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";

test("an idle host does not keep its process alive, and exits with it", async () => {
  const cache = temporaryFolder();
  // The host of chroots needs no namespaces, so it starts on every machine.
  const code = `
    import { SandboxHost } from ${JSON.stringify(import.meta.resolve("./sandbox-host.ts"))};
    const host = new SandboxHost(${JSON.stringify(cache)}, undefined, "chroots");
    await host.ready();
    console.log(host.pid);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code], {
    timeout: 30_000,
  });
  const pid = Number(stdout);
  expect(pid).toBeGreaterThan(1);
  await expect.poll(() => isRunning(pid)).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
