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

/** How much to do. */
export interface SoakOptions {
  calls: number;
  /** Calls at a time. */
  concurrency: number;
  /** How `xfn-runner` starts sandboxes before their calls; by default as it does by default. */
  warmPool?: string | undefined;
  /** Told now and then how far it is. */
  onProgress?: (done: number, usage: ResourceUsage) => void;
}

/** What it came to. */
export interface SoakReport {
  calls: number;
  faulty: number;
  seconds: number;
  /** Calls that ended in another way than they must: the first few, and how many there were. */
  wrong: { count: number; first: string[] };
  /** What the server held while it rested, after each tenth of the calls; its memory counts after {@link MEMORY_LOOKS}. */
  holdings: ResourceUsage[];
  /** Whether the server says, at the end, that it serves. */
  serving: boolean;
  /** Errors that it logged. */
  said: string;
  /** What it left behind when it had stopped. */
  left: string[];
}

// One call in five fails.
const FAULT_EVERY = 5;

const RUNNER_MAIN = join(CHECKOUT, "packages/runner/dist/program/main.js");

const LOOKS = 10;

// After three tenths V8 has grown its heap to a size that suits the work, the allocator its arenas, and the runner has prepared
// what it keeps at hand: what comes after that would be a leak.
const WARM_UP_LOOKS = 3;

/** Before these looks nobody calls until the server has given back what calls leave behind, as it does after five seconds. */
const MEMORY_LOOKS: readonly number[] = [WARM_UP_LOOKS, LOOKS];
const GIVEN_BACK_MS = 7_000;

/** How much more memory there may be at the end than after the warm-up. */
const MEMORY_FACTOR = 1.05;

const FIRST_WRONG = 5;

// A guard against a server that hangs: nobody makes more calls than a day has room for.
const MAX_MS = 24 * 60 * 60 * 1_000;

/** What is wrong, one line each. */
export function problemsOf({ wrong, holdings, serving, said, left }: SoakReport): string[] {
  const [warm, end] = [holdings.slice(WARM_UP_LOOKS - 1, -WARM_UP_LOOKS), holdings.slice(-WARM_UP_LOOKS)];
  const problems = wrong.count === 0 ? [] : [`${wrong.count} calls ended as they must not`, ...wrong.first];
  for (const name of ["processes", "zombies", "descriptors", "mounts", "cgroups"] as const) {
    // The rest of a call that was ended may be seen once; what was forgotten is seen each time.
    const [before, after] = [Math.max(...warm.map((each) => each[name])), Math.min(...end.map((each) => each[name]))];
    if (after > before) problems.push(`${name}: ${before} after the warm-up, ${after} at the end`);
  }
  const [before = 0, after = 0] = MEMORY_LOOKS.map((look) => holdings[look - 1]?.memoryMiB);
  if (after > before * MEMORY_FACTOR)
    problems.push(`memory: ${before.toFixed(1)} MiB after the warm-up, ${after.toFixed(1)} MiB at the end`);
  if (said !== "") problems.push(`it logged errors: ${said.slice(0, 1_000)}`);
  if (!serving) problems.push("its health is not SERVING");
  return [...problems, ...left.map((thing) => `left behind: ${thing}`)];
}

/** Makes calls of every kind to a real server with real containers, and looks at what it holds. */
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
    const holdings: ResourceUsage[] = [];
    const callsAt = (look: number): number => Math.ceil((options.calls * look) / LOOKS);
    for (let look = 1; look <= LOOKS; look++) {
      holdings.push(await part(callsAt(look - 1), callsAt(look), MEMORY_LOOKS.includes(look) ? GIVEN_BACK_MS : 0));
    }
    return {
      calls: options.calls,
      faulty: Array.from({ length: options.calls }, (_, index) => index).filter(isFaulty).length,
      seconds: (performance.now() - began) / 1_000,
      wrong,
      holdings,
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
