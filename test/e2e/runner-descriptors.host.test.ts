import { randomBytes } from "node:crypto";
import type { Runner, RunOptions } from "@xfn/runner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCodeFunction } from "../harness/code-function.ts";
import { needs } from "../harness/needs.ts";
import { keepsDescriptor, passesStdout } from "../harness/passed-descriptor.ts";
import { NO_HURRY_MS } from "../harness/patience.ts";
import { failureOf, runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

describe("a function that passes its stdout to another function", needs("crun", "python3"), () => {
  let workspace: Workspace;
  let runner: Runner;
  let python: string;
  beforeAll(async () => {
    workspace = await Workspace.create();
    python = await buildCodeFunction(workspace, "python");
    runner = await runnerOf(workspace);
  });
  afterAll(async () => {
    await runner.close();
    await workspace[Symbol.asyncDispose]();
  });

  const run = (code: string, options: RunOptions): Promise<Uint8Array> =>
    runner.run(python, Buffer.from(code), { network: "Accessible", ...options });

  test("a call ends with its function, although another function has its stdout", async () => {
    const name = `xfn-test-${randomBytes(6).toString("hex")}`;
    const stop = new AbortController();
    const accomplice = failureOf(
      run(keepsDescriptor(name), { timeoutMs: 2 * NO_HURRY_MS, signal: stop.signal }).then(String),
    );
    const answer = await run(passesStdout(name), { timeoutMs: NO_HURRY_MS });
    expect(Buffer.from(answer).toString()).toBe("answer\n");
    // It was still running.
    stop.abort();
    expect((await accomplice).code).toBe("Aborted");
  });
});

describe("a function", needs("crun", "python3"), () => {
  test("its processes have the highest oom_score_adj", async () => {
    await using workspace = await Workspace.create();
    const python = await buildCodeFunction(workspace, "python");
    const runner = await runnerOf(workspace);
    try {
      const answer = await runner.run(python, Buffer.from('print(open("/proc/self/oom_score_adj").read())'));
      expect(Buffer.from(answer).toString().trim()).toBe("1000");
    } finally {
      await runner.close();
    }
  });
});
