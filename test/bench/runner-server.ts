import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createRunnerClient, MAX_PAYLOAD_BYTES, type RunnerClient } from "@xfn/runner-grpc";

const program = join(import.meta.dirname, "../../packages/runner/dist/program/main.js");

/** `xfn-runner serve` in a separate process, and a client of it. */
export interface BenchServer extends AsyncDisposable {
  readonly client: RunnerClient;
  /** Milliseconds from the start of the process until it reported that it can run a container. */
  readonly readyMs: number;
  readonly pid: number;
  /** The sandbox host. */
  readonly hostPid: number;
}

/** Starts a server on a path socket. `args` override its default settings. */
export async function startServer(cacheDir: string, args: readonly string[]): Promise<BenchServer> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  const socket = `unix:${join(directory, "runner.sock")}`;
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [
      program,
      "serve",
      "--address",
      socket,
      "--cache-dir",
      cacheDir,
      "--metrics-address",
      "off",
      "--max-output",
      "100Mi",
      ...args,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  await said(child, "ready");
  const readyMs = performance.now() - began;
  const client = createRunnerClient({ endpoint: socket, maxOutputBytes: MAX_PAYLOAD_BYTES });
  const pid = child.pid as number;
  return {
    client,
    readyMs,
    pid,
    // unshare is the process between the two.
    hostPid: Number(childrenOf(pid).flatMap(childrenOf)[0]),
    [Symbol.asyncDispose]: async () => {
      client.close();
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      rmSync(directory, { recursive: true });
    },
  };
}

function said(child: ChildProcess, message: string): Promise<void> {
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        if (line.includes(`"msg":"${message}"`)) resolve();
      });
    }
    child.once("exit", (code) => reject(new Error(`xfn-runner ended with ${code}`)));
  });
}

export function childrenOf(pid: number | string): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
  );
}

/** Returns the proportional set size of a process, in megabytes. */
export function memoryOf(pid: number | string): { resident: number; proportional: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const megabytes = (name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]) * 1024) / 1e6;
  return { resident: megabytes("Rss"), proportional: megabytes("Pss") };
}
