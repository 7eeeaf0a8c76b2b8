import process from "node:process";
import { buildImage } from "@xfn/oci-rootfs";
import type { Runner, RunnerEvent, RunnerOptions } from "@xfn/runner";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { buildShellFunction, runnerOf, SHELL, storeOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

const MiB = 1024 * 1024;

describe("memory and processor time of waiting sandboxes", needs("crun", "cgroup-limits"), () => {
  let workspace: Workspace;
  let state: Before;
  let runner: Runner | undefined;
  let events: RunnerEvent[];
  beforeEach(async () => {
    workspace = await Workspace.create();
    state = await before(workspace.root);
    await buildShellFunction(workspace);
    events = [];
  });
  afterEach(async () => {
    await runner?.close();
    expect(await leftovers(state)).toEqual([]);
    await workspace[Symbol.asyncDispose]();
  });

  /** A runner, and a call of an image with this script. */
  const calling = async (script: string, options: Omit<RunnerOptions, "store">): Promise<() => Promise<string>> => {
    const store = await storeOf(workspace);
    const base = await store.image(SHELL);
    await buildImage({ store, name: "test/it", base, layers: [], config: { entrypoint: ["/bin/sh", "-c", script] } });
    const made = await runnerOf(workspace, { warmPool: 1, onEvent: (event) => events.push(event), ...options });
    runner = made;
    return async () => Buffer.from(await made.run("test/it", new Uint8Array())).toString("utf8");
  };
  const untilWaiting = async (): Promise<void> => {
    await vi.waitFor(() => expect(runner?.counts()).toEqual({ running: 0, waiting: 1 }), PATIENCE);
  };
  const warmStarts = (): boolean[] => events.flatMap((event) => (event.type === "call-started" ? [event.warm] : []));

  // Files in /dev/shm are memory that no process maps.
  const HOARD = "head -c 50000000 /dev/zero > /dev/shm/hoard 2>/dev/null";

  test("are bounded by the kernel, also memory that no process maps", async () => {
    const call = await calling(`${HOARD}; cat > /dev/null; wc -c < /dev/shm/hoard`, {
      warmPoolLimits: { memoryBytes: 24 * MiB },
    });
    expect(Number(await call())).toBe(50_000_000);
    await vi.waitFor(
      () => expect(events).toContainEqual(expect.objectContaining({ type: "sandbox-discarded", reason: "ended" })),
      PATIENCE,
    );
    expect(runner?.counts().waiting).toBe(0);
    expect(Number(await call())).toBe(50_000_000);
  });

  test("do not bound a call that has begun", async () => {
    const call = await calling(`cat > /dev/null; sleep 0.5; ${HOARD}; wc -c < /dev/shm/hoard`, {
      warmPoolLimits: { memoryBytes: 24 * MiB },
    });
    for (let round = 0; round < 2; round++) {
      expect(Number(await call())).toBe(50_000_000);
      await untilWaiting();
    }
    expect(warmStarts()).toEqual([false, true]);
  });
});

describe("without cgroups", needs("crun", "ordinary-user"), () => {
  test("no function is started before its call, unless the operator allows it", async () => {
    await using workspace = await Workspace.create({ as: "ordinary-user" });
    await buildShellFunction(workspace);
    const path = await workspace.write(
      "caller.mjs",
      `
      import { setTimeout as sleep } from "node:timers/promises";
      import { openStore } from ${JSON.stringify(import.meta.resolve("@xfn/oci-rootfs"))};
      import { createRunner } from ${JSON.stringify(import.meta.resolve("@xfn/runner"))};
      const seen = [];
      for (const allowUnlimited of [false, true]) {
        const warnings = [];
        const onWarning = (message) => warnings.push(message);
        const store = await openStore({ dir: ${JSON.stringify(workspace.cache)} });
        const runner = createRunner({ store, warmPool: 1, allowUnlimited, onWarning });
        for (let call = 0; call < 2; call++) await runner.run(${JSON.stringify(SHELL)}, Buffer.from("ls /dev > /dev/null && echo\\n"));
        for (let look = 0; look < 100 && runner.counts().waiting === 0; look++) await sleep(allowUnlimited ? 100 : 5);
        seen.push({ waiting: runner.counts().waiting, warnings });
        await runner.close();
      }
      console.log(JSON.stringify(seen));
      `,
    );
    const { stdout, stderr } = await workspace.start([process.execPath, path]).finished;
    expect(JSON.parse(stdout || "null"), stderr).toEqual([
      {
        waiting: 0,
        warnings: expect.arrayContaining([
          expect.stringMatching(/no function is started before its call, because .*--allow-unlimited/),
        ]),
      },
      { waiting: 1, warnings: expect.anything() },
    ]);
  });
});
