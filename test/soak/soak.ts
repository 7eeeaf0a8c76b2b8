import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { checkHealth, createRunnerClient, type RunnerClient, RunnerGrpcError } from "@xfn/runner-grpc";
import { before, leftovers } from "../harness/leftovers.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { buildShellFunction, SHELL } from "../harness/shell-function.ts";
import type { Started, Workspace } from "../harness/workspace.ts";
import { FAULTY, GOOD, type Place } from "./kinds.ts";
import { type ResourceUsage, restingUsage } from "./watch.ts";

/** The amount of calls, and how to make them. */
export interface SoakOptions {
  calls: number;
  /** Concurrent calls. */
  concurrency: number;
  /** The `--warm-pool` policy of `xfn-runner`; by default its default. */
  warmPool?: string | undefined;
  /** Called after each tenth of the calls. */
  onProgress?: (done: number, usage: ResourceUsage) => void;
}

/** The outcome. */
export interface SoakReport {
  calls: number;
  faulty: number;
  seconds: number;
  /** Calls with an unexpected outcome: their number, and the first few. */
  wrong: { count: number; first: string[] };
  /** The idle server's usage after each tenth of the calls. Its memory is compared at {@link MEMORY_LOOKS} only. */
  usages: ResourceUsage[];
  /** Whether the server's health is SERVING at the end. */
  serving: boolean;
  /** Errors that the server logged. */
  said: string;
  /** Leftovers after the server stopped. */
  left: string[];
}

// One call in five fails.
const FAULT_EVERY = 5;

const RUNNER_MAIN = join(CHECKOUT, "packages/runner/dist/program/main.js");

const LOOKS = 10;

// After three tenths, V8's heap and the allocator's arenas have their final size, and the runner has filled its pools.
// Later growth is a leak.
const WARM_UP_LOOKS = 3;

/** Before these measurements the server idles long enough to free memory, which it does after five seconds. */
const MEMORY_LOOKS: readonly number[] = [WARM_UP_LOOKS, LOOKS];
const FREE_MEMORY_MS = 7_000;

/** The permitted growth of memory between the warm-up and the end. */
const MEMORY_FACTOR = 1.05;

const FIRST_WRONG = 5;

// Stops a server that hangs. No soak takes longer than a day.
const MAX_MS = 24 * 60 * 60 * 1_000;

/** The problems of a report, one line each. */
export function problemsOf({ wrong, usages, serving, said, left }: SoakReport): string[] {
  const [warm, end] = [usages.slice(WARM_UP_LOOKS - 1, -WARM_UP_LOOKS), usages.slice(-WARM_UP_LOOKS)];
  const problems = wrong.count === 0 ? [] : [`${wrong.count} calls had an unexpected outcome`, ...wrong.first];
  for (const name of ["processes", "zombies", "descriptors", "mounts", "cgroups"] as const) {
    // A single measurement may show the remains of a cancelled call. A leak shows in each.
    const [before, after] = [Math.max(...warm.map((each) => each[name])), Math.min(...end.map((each) => each[name]))];
    if (after > before) problems.push(`${name}: ${before} after the warm-up, ${after} at the end`);
  }
  const [before = 0, after = 0] = MEMORY_LOOKS.map((look) => usages[look - 1]?.memoryMiB);
  if (after > before * MEMORY_FACTOR)
    problems.push(`memory: ${before.toFixed(1)} MiB after the warm-up, ${after.toFixed(1)} MiB at the end`);
  if (said !== "") problems.push(`it logged errors: ${said.slice(0, 1_000)}`);
  if (!serving) problems.push("its health is not SERVING");
  return [...problems, ...left.map((thing) => `leftover: ${thing}`)];
}

/** Makes calls of every kind to a real server with real containers, and measures its usage. */
export async function soak(workspace: Workspace, options: SoakOptions): Promise<SoakReport> {
  await buildShellFunction(workspace);
  const state = await before(workspace.root);
  const report = await callServer(workspace, options);
  return { ...report, left: await leftovers(state) };
}

async function callServer(workspace: Workspace, options: SoakOptions): Promise<Omit<SoakReport, "left">> {
  const socket = workspace.path("runner.sock");
  const server = startServer(workspace, socket, options);
  const client = createRunnerClient({ endpoint: `unix:${socket}` });
  try {
    await untilServing(socket, server);
    const place: Place = { client, socket, folder: workspace.path(), limits: await canLimit(client) };
    const wrong: SoakReport["wrong"] = { count: 0, first: [] };
    const began = performance.now();
    const part = async (from: number, to: number, waitMs: number): Promise<ResourceUsage> => {
      let next = from;
      const worker = async (): Promise<void> => {
        while (next < to) {
          const index = next++;
          const kinds = isFaulty(index) ? FAULTY : GOOD;
          const kind = kinds[Math.floor(index / FAULT_EVERY) % kinds.length] ?? kinds[0];
          await kind?.(place, index).catch((error: unknown) => {
            wrong.count++;
            if (wrong.first.length < FIRST_WRONG) wrong.first.push(`call ${index}: ${String(error)}`);
          });
        }
      };
      await Promise.all(Array.from({ length: options.concurrency }, worker));
      await sleep(waitMs);
      const usage = await restingUsage(server.child.pid as number);
      options.onProgress?.(to, usage);
      return usage;
    };
    const usages: ResourceUsage[] = [];
    const callsAt = (look: number): number => Math.ceil((options.calls * look) / LOOKS);
    for (let look = 1; look <= LOOKS; look++) {
      usages.push(await part(callsAt(look - 1), callsAt(look), MEMORY_LOOKS.includes(look) ? FREE_MEMORY_MS : 0));
    }
    return {
      calls: options.calls,
      faulty: Array.from({ length: options.calls }, (_, index) => index).filter(isFaulty).length,
      seconds: (performance.now() - began) / 1_000,
      wrong,
      usages,
      serving: await isServing(socket),
      said: server.stderr(),
    };
  } finally {
    client.close();
    server.child.kill("SIGTERM");
    await server.finished;
  }
}

async function canLimit(client: RunnerClient): Promise<boolean> {
  try {
    await client.run(SHELL, Buffer.from("cat\n"), { memoryBytes: 64 * 1024 * 1024, timeoutMs: 60_000 });
    return true;
  } catch (error) {
    if (error instanceof RunnerGrpcError && error.code === "LimitUnavailable") return false;
    throw error;
  }
}

function isFaulty(index: number): boolean {
  return index % FAULT_EVERY === FAULT_EVERY - 1;
}

function startServer(workspace: Workspace, socket: string, { warmPool }: SoakOptions): Started {
  const options = {
    address: `unix:${socket}`,
    "cache-dir": workspace.cache,
    "metrics-address": "off",
    "max-concurrent": "4",
    "log-level": "error",
    ...(warmPool === undefined ? {} : { "warm-pool": warmPool }),
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return workspace.start([process.execPath, RUNNER_MAIN, "serve", ...args], { killAfterMs: MAX_MS });
}

async function untilServing(socket: string, { child, stderr }: Started): Promise<void> {
  while (!(await isServing(socket))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the runner did not start: ${stderr()}`);
    await sleep(100);
  }
}

async function isServing(socket: string): Promise<boolean> {
  const state = await checkHealth({ endpoint: `unix:${socket}` }, 5_000).catch(() => "UNKNOWN");
  return state === "SERVING";
}
