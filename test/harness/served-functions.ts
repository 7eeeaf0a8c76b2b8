import process from "node:process";
import { FunctionClient, FunctionConnection, type FunctionRequest, type FunctionResponse } from "@xfn/function-grpc";
import { RunnerError, type ServedFunction } from "@xfn/runner";
import { buildGrpcImage, type GrpcImage } from "./grpc-function.ts";
import { NO_HURRY_MS } from "./patience.ts";
import { descendantsOf, processFile } from "./processes.ts";
import type { Workspace } from "./workspace.ts";

/** Returns a request for an XR with this name. */
export function requestFor(name: string): FunctionRequest {
  const resource = { apiVersion: "example.org/v1", kind: "XGreeting", spec: { name } };
  return { observed: { composite: { resource }, resources: new Map() }, desired: { resources: new Map() } };
}

/** Calls a served function over a connection of its own. */
export async function callServed(served: ServedFunction, name: string): Promise<FunctionResponse> {
  const connection = new FunctionConnection(await served.connect());
  try {
    const { response } = await new FunctionClient(connection).run(requestFor(name), { timeoutMs: NO_HURRY_MS });
    return response;
  } finally {
    connection.close();
  }
}

/** Returns the greeting that a function of test/functions has composed. */
export function greetingOf({ desired }: FunctionResponse): unknown {
  return desired.resources.get("greeting")?.resource["data"];
}

/** Returns the first processes of containers below a process. */
export function servedProcesses(root: number = process.pid): number[] {
  const depth = pidsOf(process.pid).length;
  // One namespace of the sandbox host, and one of the container.
  return descendantsOf(root).filter((pid) => {
    const pids = pidsOf(pid);
    return pids.length === depth + 2 && pids.at(-1) === "1";
  });
}

/** Its process ids in all pid namespaces that it is in. */
function pidsOf(pid: number): string[] {
  return (/^NSpid:\s+(.*)$/m.exec(processFile(pid, "status"))?.[1] ?? "").split(/\s+/);
}

/** Returns the error of a served function. @throws Error if it succeeds */
export async function servingFailure(work: Promise<unknown>): Promise<RunnerError> {
  const outcome = await work.catch((error: unknown) => error);
  if (outcome instanceof RunnerError) return outcome;
  throw outcome instanceof Error ? outcome : new Error("it succeeded");
}

/** Builds an image whose function runs a shell script, with the arguments of the function. @returns its name */
export async function buildScriptImage(
  workspace: Workspace,
  name: string,
  script: string,
  more: Partial<GrpcImage> = {},
): Promise<string> {
  const entries = [{ path: "bin/busybox", source: "/bin/busybox", mode: 0o755 }];
  const entrypoint = ["/bin/busybox", "sh", "-c", script, "function"];
  return await buildGrpcImage(workspace, { name, entries, entrypoint, ...more });
}
