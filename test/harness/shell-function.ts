import { writeFile } from "node:fs/promises";
import { openStore } from "@xfn/oci-rootfs";
import { createRunner, type Runner, RunnerError, type RunnerOptions, type RunOptions, sandboxOwner } from "@xfn/runner";
import type { Workspace } from "./workspace.ts";

/** The name of the image that {@link buildShellFunction} makes. */
export const SHELL = "test/shell";

/** Builds an image whose function does what the first line of its stdin says, as a shell. */
export async function buildShellFunction(workspace: Workspace): Promise<void> {
  const script = await workspace.write("shell/function", '#!/bin/sh\nread -r script\neval "$script"\n', {
    mode: 0o755,
  });
  const built = await workspace.xfn(["build", workspace.path("shell"), "-t", SHELL]);
  if (built.code !== 0) throw new Error(`cannot build ${script}: ${built.stderr}`);
}

/** A runner over the workspace's images. */
export async function runnerOf(workspace: Workspace, options: Omit<RunnerOptions, "store"> = {}): Promise<Runner> {
  const owner = sandboxOwner();
  return createRunner({
    store: await openStore({ dir: workspace.cache, ...(owner === undefined ? {} : { owner }) }),
    ...options,
  });
}

/** What a shell function answers to a script. @param rest - what the script finds on its stdin */
export async function ask(runner: Runner, script: string, options: RunOptions = {}, rest = ""): Promise<string> {
  return Buffer.from(await runner.run(SHELL, Buffer.from(`${script}\n${rest}`), options)).toString("utf8");
}

/** Why a call failed. @throws Error if it did not */
export async function failureOf(call: Promise<string>): Promise<RunnerError> {
  const outcome = await call.catch((error: unknown) => error);
  if (outcome instanceof RunnerError) return outcome;
  throw outcome instanceof Error ? outcome : new Error(`it succeeded: ${String(outcome).slice(0, 1000)}`);
}

/** A program that uses the runner, for tests that kill it. */
export async function writeCaller(
  workspace: Workspace,
  script: string,
  options: RunOptions = {},
  runnerOptions: Omit<RunnerOptions, "store"> = {},
): Promise<string> {
  const source = `
    import { openStore } from ${JSON.stringify(import.meta.resolve("@xfn/oci-rootfs"))};
    import { createRunner, sandboxOwner } from ${JSON.stringify(import.meta.resolve("@xfn/runner"))};
    const store = await openStore({ dir: ${JSON.stringify(workspace.cache)}, owner: sandboxOwner() });
    const runner = createRunner({ store, ...${JSON.stringify(runnerOptions)} });
    await runner.run(${JSON.stringify(SHELL)}, Buffer.from("echo ready\\n"));
    console.log("running");
    await runner.run(${JSON.stringify(SHELL)}, Buffer.from(${JSON.stringify(`${script}\n`)}), ${JSON.stringify(options)});
  `;
  const path = workspace.path("caller.mjs");
  await writeFile(path, source);
  return path;
}
