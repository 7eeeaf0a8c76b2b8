import process from "node:process";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MemoryGroup } from "../../packages/runner/testing/memory-group.ts";
import { buildOutputImage, HOSTILE_VALUES, MAX_OUTPUT_BYTES, outputWith } from "../harness/hostile-content.ts";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { failureOf } from "../harness/runner-program.ts";
import { clientOf, type RunningServer, startRunnerServer } from "../harness/runner-server.ts";
import { buildScriptImage } from "../harness/served-functions.ts";
import { Workspace } from "../harness/workspace.ts";

// `xfn-runner serve` with its functions in 256 MiB.

const BYTES = 256 * 1024 * 1024;
const NOTHING = new Uint8Array(1);
const OPTIONS = { pullPolicy: "Never", timeoutMs: 60_000 } as const;

describe("a runner and its functions in 256 MiB", needs("crun", "busybox", "cgroup-limits"), () => {
  let workspace: Workspace;
  let state: Before;
  let group: MemoryGroup;
  let server: RunningServer;

  const address = (): string => `unix:${workspace.path("runner.sock")}`;
  const hostile = Object.entries(HOSTILE_VALUES).map(([title, value], index) => ({
    title,
    value,
    image: `test/${index}`,
  }));

  beforeAll(async () => {
    workspace = await Workspace.create();
    for (const { image, value } of hostile) await buildOutputImage(workspace, image, outputWith(value()));
    await buildScriptImage(workspace, "test/endless", "exec /bin/busybox cat /dev/zero");
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    state = await before(workspace.root);
    group = MemoryGroup.create(BYTES);
    const inGroup = (command: readonly string[]): string[] => group.command(command);
    server = await startRunnerServer(workspace, ["--address", address()], { wrap: inGroup });
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
    await group[Symbol.asyncDispose]();
    expect(await leftovers(state)).toEqual([]);
  });

  const isRunning = (): boolean => server.started.child.exitCode === null && server.started.child.signalCode === null;

  test("return any outputs of 16 MiB, and end one without end", { timeout: 300_000 }, async () => {
    using client = clientOf({ endpoint: address() });
    for (const { title, value, image } of hostile) {
      const output = await client.run(image, NOTHING, OPTIONS);
      expect(Buffer.from(output).equals(Buffer.from(outputWith(value()))), title).toBe(true);
      const failure = await failureOf(client.run("test/endless", NOTHING, OPTIONS));
      expect(failure.code).toBe("OutputTooLarge");
    }
    expect(group.kills()).toBe(0);
    expect(isRunning()).toBe(true);
  });

  test("survive as many of them at once as they take", { timeout: 300_000 }, async () => {
    using client = clientOf({ endpoint: address() });
    const calls = Array.from({ length: 40 }, (_, index) => hostile[index % hostile.length]?.image ?? "");
    const outcomes = await Promise.allSettled(calls.map((image) => client.run(image, NOTHING, OPTIONS)));
    // A function may fail for lack of memory. The runner may not.
    expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
    expect(isRunning()).toBe(true);
    const output = await client.run(hostile[0]?.image ?? "", NOTHING, OPTIONS);
    expect(output.length).toBeLessThanOrEqual(MAX_OUTPUT_BYTES);
    expect(process.kill(server.started.child.pid ?? 0, 0)).toBe(true);
  });
});
