import process from "node:process";
import { type RunnerClient, RunnerGrpcError, type RunOptions } from "@xfn/runner-grpc";
import { describe } from "vitest";
import { needs } from "./needs.ts";
import { RUNNER_MAIN } from "./paths.ts";
import { SHELL } from "./shell-function.ts";
import { shellWorkspace } from "./shell-workspace.ts";
import { type As, type Finished, type RunOptions as ProgramOptions, USERS, type Workspace } from "./workspace.ts";

/** A token that runners accept. */
export const TOKEN = "a-token-of-more-than-16-characters";

/** Shared by the tests of a user. */
export interface SharedRunner {
  /** Has the shell function. */
  readonly workspace: Workspace;
  /** A path socket, on which no runner listens yet. */
  readonly socket: string;
}

/** Describes the program for this user, and for an ordinary user, without whom only the second suite is skipped. */
export function describeXfnRunner(stories: (shared: SharedRunner) => void): void {
  const describeAs = (as: As): void => {
    const shared = shellWorkspace(as);
    stories({
      get workspace() {
        return shared.workspace;
      },
      get socket() {
        return `unix:${shared.workspace.path("runner.sock")}`;
      },
    });
  };
  for (const as of USERS) {
    describe(`xfn-runner as ${as}`, as === "self" ? needs("crun") : needs("crun", "ordinary-user"), () => {
      describeAs(as);
    });
  }
}

/** Runs `xfn-runner ARGS` to its end. */
export function xfnRunner(
  workspace: Workspace,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<Finished> {
  return workspace.start([process.execPath, RUNNER_MAIN, ...args], options).finished;
}

/** Returns the output of the shell function at a runner. */
export async function sh(client: RunnerClient, script: string, options: RunOptions = {}): Promise<string> {
  return Buffer.from(await client.run(SHELL, Buffer.from(`${script}\n`), options)).toString("utf8");
}

/** Returns the error of a call at a runner. @throws Error if the call succeeds */
export async function failureOf(call: Promise<unknown>): Promise<RunnerGrpcError> {
  const error = await call.then(
    (value) => new Error(`it succeeded: ${String(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof RunnerGrpcError)) throw error;
  return error;
}

/** A runner's metrics, without histogram buckets. */
export async function scrape(http: string): Promise<string[]> {
  const text = await (await fetch(`${http}/metrics`)).text();
  return text.split("\n").filter((line) => line.startsWith("xfn_runner_") && !line.includes("_bucket{"));
}
