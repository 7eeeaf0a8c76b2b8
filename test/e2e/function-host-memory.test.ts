import type { Runner } from "@xfn/runner";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { buildScriptImage, servingFailure } from "../harness/served-functions.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

const MiB = 1024 * 1024;

describe("the memory of served functions", needs("crun", "busybox", "cgroup-limits"), () => {
  let workspace: Workspace;
  let state: Before;
  let runner: Runner;
  beforeEach(async () => {
    workspace = await Workspace.create();
    state = await before(workspace.root);
    // Files in /dev/shm are memory that no process maps.
    await buildScriptImage(workspace, "test/hoard", "exec /bin/busybox head -c 50000000 /dev/zero > /dev/shm/hoard");
    runner = await runnerOf(workspace, { serversMemoryBytes: 24 * MiB });
  });
  afterEach(async () => {
    await runner.close();
    expect(await leftovers(state)).toEqual([]);
    await workspace[Symbol.asyncDispose]();
  });

  test.each([
    ["without limits", {}],
    ["with a limit of another kind", { cpus: 1 }],
  ])("is bounded by the kernel over all servers: one %s", async (_, limits) => {
    const failure = await servingFailure(runner.serve("test/hoard", limits));
    expect(failure).toMatchObject({ code: "OutOfMemory", message: expect.stringContaining("that they share") });
  });

  test("is bounded by a limit of its own instead, where it has one", async () => {
    const failure = await servingFailure(runner.serve("test/hoard", { memoryBytes: 100 * MiB }));
    expect(failure.code).toBe("ServerExited");
  });
});
