import { writeFile } from "node:fs/promises";
import { openStore, type Store } from "@xfn/oci-rootfs";
import {
  createRunner,
  MAX_PAYLOAD_BYTES,
  type Runner,
  RunnerError,
  type RunnerOptions,
  type RunOptions,
  sandboxOwner,
} from "@xfn/runner";
import { addHostBases } from "./host-bases.ts";
import { NO_HURRY_MS } from "./patience.ts";
import type { Workspace } from "./workspace.ts";

/** The name of the image that {@link buildShellFunction} makes. */
export const SHELL = "test/shell";

/** Builds an image whose function runs the first line of its stdin as a shell script. */
export async function buildShellFunction(workspace: Workspace): Promise<void> {
  await addHostBases(workspace, "sh");
  const script = await workspace.write("shell/function", '#!/bin/sh\nread -r script\neval "$script"\n', {
    mode: 0o755,
  });
  const built = await workspace.xfn(["build", workspace.path("shell"), "-t", SHELL]);
  if (built.code !== 0) throw new Error(`cannot build ${script}: ${built.stderr}`);
}

/** Opens the workspace's image store as its runners do. */
export async function storeOf(workspace: Workspace): Promise<Store> {
  return await openStore({ dir: workspace.cache, owner: sandboxOwner() });
}

/** Creates a runner with the workspace's images. Its functions may write as much as an operator can allow. */
export async function runnerOf(
  workspace: Workspace,
  options: Omit<RunnerOptions, "store"> = {},
): Promise<Runner & AsyncDisposable> {
  const runner = createRunner({
    store: await storeOf(workspace),
    maxOutputBytes: MAX_PAYLOAD_BYTES,
    ...waitingAllowed(options),
    ...options,
  });
  return Object.assign(runner, { [Symbol.asyncDispose]: () => runner.close() });
}

/** Lets sandboxes wait although an ordinary user has no cgroup that bounds them. */
function waitingAllowed({ warmPool }: Omit<RunnerOptions, "store">): Pick<RunnerOptions, "allowUnlimited"> {
  return warmPool === undefined || process.getuid?.() === 0 ? {} : { allowUnlimited: true };
}

/** Returns the output of a shell function for a script. @param rest - the script's stdin */
export async function ask(runner: Runner, script: string, options: RunOptions = {}, rest = ""): Promise<string> {
  const input = Buffer.from(`${script}\n${rest}`);
  return Buffer.from(await runner.run(SHELL, input, { timeoutMs: NO_HURRY_MS, ...options })).toString("utf8");
}

/** Returns the error of a call. @throws Error if the call succeeds */
export async function failureOf(call: Promise<string>): Promise<RunnerError> {
  const outcome = await call.catch((error: unknown) => error);
  if (outcome instanceof RunnerError) return outcome;
  throw outcome instanceof Error ? outcome : new Error(`it succeeded: ${String(outcome).slice(0, 1000)}`);
}

/** Returns the output of a call, or undefined if its time ended first: an attempt of `withMoreTime`. */
export async function inTime(call: Promise<string>): Promise<string | undefined> {
  return await call.catch((error: unknown) => {
    if (error instanceof RunnerError && error.code === "Timeout") return undefined;
    throw error;
  });
}

/** The source of a program that uses the runner, for tests that kill it. */
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
    const runner = createRunner({ store, ...${JSON.stringify({ ...waitingAllowed(runnerOptions), ...runnerOptions })} });
    await runner.run(${JSON.stringify(SHELL)}, Buffer.from("echo ready\\n"));
    console.log("running");
    await runner.run(${JSON.stringify(SHELL)}, Buffer.from(${JSON.stringify(`${script}\n`)}), ${JSON.stringify(options)});
  `;
  const path = workspace.path("caller.mjs");
  await writeFile(path, source);
  return path;
}
