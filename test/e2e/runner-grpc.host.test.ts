import { execFile } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { createRunnerServer } from "@xfn/runner-grpc";
import { describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { CHECKOUT, ORDINARY_USER } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

describe("a runner's path socket", needs("root", "ordinary-user"), () => {
  test("rejects other users with PermissionDenied", async () => {
    const folder = temporaryFolder();
    // All users can enter the folder, so only the socket's mode rejects them.
    chmodSync(folder, 0o755);
    const endpoint = `unix:${join(folder, "runner.sock")}`;
    let runs = 0;
    const server = createRunnerServer({
      run: async (_image, input) => {
        runs++;
        return input;
      },
      addresses: [endpoint],
      maxConcurrent: 1,
      maxQueued: 0,
    });
    onTestFinished(async () => {
      await server.stop(0);
    });
    await server.start();
    const script = `
      import { createRunnerClient } from "@xfn/runner-grpc";
      const client = createRunnerClient({ endpoint: ${JSON.stringify(endpoint)} });
      await client.run("x", new Uint8Array()).then(() => console.log("admitted"), (error) => console.log(error.code, error.status));
      client.close();`;
    const node = [process.execPath, "--input-type=module", "-e", script];
    const { stdout, stderr } = await run(["setpriv", ...ORDINARY_USER, ...node]);
    expect(`${stdout}${stderr}`).toBe("PermissionDenied PERMISSION_DENIED\n");
    expect(runs).toBe(0);
    expect((await run(node)).stdout).toBe("admitted\n");
    expect(runs).toBe(1);
  });
});

function run([program = "", ...args]: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(program, args, { cwd: CHECKOUT, timeout: 30_000 });
}
