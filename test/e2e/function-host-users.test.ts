import { copyFile } from "node:fs/promises";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { buildGoProgram } from "../harness/go-program.ts";
import { before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { USERS, Workspace } from "../harness/workspace.ts";

// A program of each user builds the image, serves it, calls it, and waits.
const program = (workspace: Workspace, go: string): string => `
  import { FunctionClient, FunctionConnection } from ${JSON.stringify(import.meta.resolve("@xfn/function-grpc"))};
  import { buildImage, openStore } from ${JSON.stringify(import.meta.resolve("@xfn/oci-rootfs"))};
  import { createRunner, sandboxOwner } from ${JSON.stringify(import.meta.resolve("@xfn/runner"))};
  const store = await openStore({ dir: ${JSON.stringify(workspace.cache)}, owner: sandboxOwner() });
  const entries = [{ path: "function", source: ${JSON.stringify(go)}, mode: 0o755 }];
  const config = { entrypoint: ["/function"], user: "2000:2000" };
  await buildImage({ store, name: "test/go", layers: [{ entries, compression: "none" }], config });
  const runner = createRunner({ store });
  const served = await Promise.all(["A", "B"].map((GREETING) => runner.serve("test/go", { env: { GREETING } })));
  const resource = { apiVersion: "example.org/v1", kind: "XGreeting", spec: { name: "Ada" } };
  const request = { observed: { composite: { resource }, resources: new Map() }, desired: { resources: new Map() } };
  for (const one of served) {
    const connection = new FunctionConnection(await one.connect());
    const { response } = await new FunctionClient(connection).run(request, { timeoutMs: 120_000 });
    console.log(response.desired.resources.get("greeting").resource.data.greeting);
    connection.close();
  }
  if (process.argv[2] !== "release") await new Promise((resolve) => setTimeout(resolve, 600_000));
  for (const one of served) one.release();
`;

describe.each(USERS)("served functions of a program that runs as %s", (as) => {
  const set = as === "self" ? needs("crun", "go-functions") : needs("crun", "go-functions", "ordinary-user");

  test("answer, and end with the program, which does not close its runner", { ...set, timeout: 900_000 }, async () => {
    await using workspace = await Workspace.create({ as });
    const state = await before(workspace.root);
    const source = await written(workspace);
    const { code, stdout, stderr } = await workspace.start([process.execPath, source, "release"]).finished;
    expect({ code, stdout, stderr: withoutWarnings(stderr) }).toEqual({
      code: 0,
      stdout: "A Ada\nB Ada\n",
      stderr: "",
    });
    expect(await leftovers(state)).toEqual([]);
  });

  test("answer, and nothing of them is left after kill -9", { ...set, timeout: 900_000 }, async () => {
    await using workspace = await Workspace.create({ as });
    const state = await before(workspace.root);
    const started = workspace.start([process.execPath, await written(workspace)]);
    const lines: string[] = [];
    started.child.stdout?.on("data", (chunk: Buffer) => lines.push(String(chunk)));
    await expect.poll(() => lines.join(""), { timeout: 60_000 }).toBe("A Ada\nB Ada\n");
    expect(await leftovers(state, { graceMs: 0 })).not.toEqual([]);
    started.child.kill("SIGKILL");
    await started.finished;
    expect(await leftovers(state)).toEqual([]);
  });
});

async function written(workspace: Workspace): Promise<string> {
  const go = buildGoProgram("go-greeting");
  const copy = await workspace.write("go-greeting", "");
  await copyFile(go, copy);
  return await workspace.write("serve.mjs", program(workspace, copy));
}

const withoutWarnings = (text: string): string => text.replaceAll(/^.*(Warning|warning).*\n/gm, "");
