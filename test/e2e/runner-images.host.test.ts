import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore, type PruneResult } from "@xfn/oci-rootfs";
import type { Runner } from "@xfn/runner";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { RUNNER_MAIN } from "../harness/paths.ts";
import { PATIENCE } from "../harness/patience.ts";
import { buildShellFunction, runnerOf, SHELL } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

const IDLE_MS = 50;
describe("images that a runner uses", needs("crun"), () => {
  let workspace: Workspace;
  let state: Before;
  let runner: Runner | undefined;
  beforeEach(async () => {
    workspace = await Workspace.create();
    state = await before(workspace.root);
    await buildShellFunction(workspace);
  });
  afterEach(async () => {
    await runner?.close();
    expect(await leftovers(state)).toEqual([]);
    await workspace[Symbol.asyncDispose]();
  });

  const prune = async (dryRun: boolean): Promise<PruneResult> =>
    (await openStore({ dir: workspace.cache })).prune({ maxBytes: 0, built: true, dryRun });

  test("can be pruned when they are idle, but not while a call uses them", async () => {
    const used = await runnerOf(workspace, { imageIdleMs: IDLE_MS });
    runner = used;
    const stop = new AbortController();
    const call = used.run(SHELL, Buffer.from("exec sleep 600\n"), { signal: stop.signal, timeoutMs: 600_000 });
    const ended = call.catch((error: unknown) => error);
    await vi.waitFor(() => expect(used.counts().running).toBe(1), PATIENCE);
    await sleep(4 * IDLE_MS);
    expect((await prune(false)).inUse).toEqual([`${SHELL}:latest`]);
    stop.abort();
    expect(await ended).toMatchObject({ code: "Aborted" });
    await vi.waitFor(async () => expect((await prune(true)).inUse).toEqual([]), PATIENCE);
    expect((await prune(false)).images).toContain(`${SHELL}:latest`);
    await expect(used.run(SHELL, Buffer.from("echo\n"), { pullPolicy: "Never" })).rejects.toMatchObject({
      phase: "pull",
    });
    // The rebuilt image is a new directory at the same path.
    await buildShellFunction(workspace);
    expect(String(await used.run(SHELL, Buffer.from("echo again\n")))).toBe("again\n");
  });

  test.each([
    ["a sandbox waits for its call or is being created", { warmPool: 1 }, 1],
    ["a shared root file system may be mounted", { readOnlyRoot: true }, 0],
  ])("cannot be pruned while %s", async (_, options, waiting) => {
    const used = await runnerOf(workspace, { imageIdleMs: 1, ...options });
    runner = used;
    await used.run(SHELL, Buffer.from("echo\n"));
    await vi.waitFor(() => expect(used.counts()).toEqual({ running: 0, waiting }), PATIENCE);
    await sleep(4 * IDLE_MS);
    expect((await prune(false)).inUse).toEqual([`${SHELL}:latest`]);
    expect(String(await used.run(SHELL, Buffer.from("echo two\n")))).toBe("two\n");
  });

  test("are copied for each call where the kernel refuses overlays", needs("root"), async () => {
    // An overlay cannot have layers on an overlay that has layers on another one.
    const script = `
mount -t tmpfs none "$HOME"
cd "$HOME"
mkdir up1 work1 over up2 work2
mount -t overlay -o "lowerdir=$0,upperdir=up1,workdir=work1" none over
mount -t overlay -o "lowerdir=over,upperdir=up2,workdir=work2" none "$0"
exec "$@"`;
    const run = [process.execPath, RUNNER_MAIN, "run", SHELL];
    const input = "echo x >/file; read -r line </file; echo $line\n";
    const { code, stdout, stderr } = await workspace.start(
      ["unshare", "-m", "sh", "-ec", script, workspace.cache, ...run],
      { input },
    ).finished;
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: "x\n" });
    expect(stderr).toContain("overlay is not possible here");
  });
});
