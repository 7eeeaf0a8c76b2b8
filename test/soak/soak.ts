import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { checkHealth, createRunnerClient, type RunnerClient, RunnerGrpcError } from "@xfn/runner-grpc";
import { MemoryGroup } from "../../packages/runner/testing/memory-group.ts";
import { before, leftovers } from "../harness/leftovers.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { buildShellFunction, SHELL } from "../harness/shell-function.ts";
import type { Started, Workspace } from "../harness/workspace.ts";
import { prepareHostile } from "./hostile.ts";
import { FAULTY, GOOD, type Kind, type Place, SERVED } from "./kinds.ts";
import type { Latencies } from "./latencies.ts";
import { prepareServed } from "./served.ts";
import { type ResourceUsage, restingUsage } from "./watch.ts";

/** The amount of calls, and how to make them. */
export interface SoakOptions {
  calls: number;
  /** Concurrent calls. */
  concurrency: number;
  /** The `--warm-pool` policy of `xfn-runner`; by default its default. */
  warmPool?: string | undefined;
  /** Whether to call only functions that are servers. */
  servedOnly?: boolean;
  /** Bounds the memory of the server and all functions together, by a cgroup. By default nothing does. */
  memoryBytes?: number | undefined;
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
  /** Only calls with the expected outcome. */
  latencies: Latencies;
  /** The idle server's usage after each tenth of the calls. Its memory is compared at {@link MEMORY_LOOKS} only. */
  usages: ResourceUsage[];
  /** Whether the server's health is SERVING at the end. */
  serving: boolean;
  /** Errors that the server logged. */
  said: string;
  /** How many times the bound of memory made the kernel kill a process; 0 without a bound. */
  memoryKills: number;
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

// Calls before the quiet ones, which start servers and fill the warm pool. Both have every kind of good call.
const UNTIMED_CALLS = 105;
const QUIET_CALLS = 420;

// Stops a server that hangs. No soak takes longer than a day.
const MAX_MS = 24 * 60 * 60 * 1_000;

/** The problems of a report, one line each. */
export function problemsOf({ wrong, usages, serving, said, memoryKills, left }: SoakReport): string[] {
  const [warm, end] = [usages.slice(WARM_UP_LOOKS - 1, -WARM_UP_LOOKS), usages.slice(-WARM_UP_LOOKS)];
  const problems = wrong.count === 0 ? [] : [`${wrong.count} calls had an unexpected outcome`, ...wrong.first];
  for (const name of ["processes", "threads", "zombies", "descriptors", "mounts", "cgroups"] as const) {
    // A single measurement may show the remains of a cancelled call. A leak shows in each.
    const [before, after] = [Math.max(...warm.map((each) => each[name])), Math.min(...end.map((each) => each[name]))];
    if (after > before) problems.push(`${name}: ${before} after the warm-up, ${after} at the end`);
  }
  const [before = 0, after = 0] = MEMORY_LOOKS.map((look) => usages[look - 1]?.memoryMiB);
  if (after > before * MEMORY_FACTOR)
    problems.push(`memory: ${before.toFixed(1)} MiB after the warm-up, ${after.toFixed(1)} MiB at the end`);
  if (said !== "") problems.push(`it logged errors: ${said.slice(0, 1_000)}`);
  if (memoryKills > 0) problems.push(`the kernel killed a process ${memoryKills} times for lack of memory`);
  if (!serving) problems.push("its health is not SERVING");
  return [...problems, ...left.map((thing) => `leftover: ${thing}`)];
}

/** Makes calls of every kind to a real server with real containers, and measures its usage. */
export async function soak(workspace: Workspace, options: SoakOptions): Promise<SoakReport> {
  await buildShellFunction(workspace);
  const hostile = await prepareHostile(workspace);
  const served = await prepareServed(workspace);
  if (options.servedOnly === true && served === undefined) throw new Error("this machine cannot build functions in Go");
  const state = await before(workspace.root);
  const report = await callServer(workspace, options, { hostile, served });
  return { ...report, left: await leftovers(state) };
}

async function callServer(
  workspace: Workspace,
  options: SoakOptions,
  images: Pick<Place, "hostile" | "served">,
): Promise<Omit<SoakReport, "left">> {
  const socket = workspace.path("runner.sock");
  await using group = options.memoryBytes === undefined ? undefined : MemoryGroup.create(options.memoryBytes);
  const server = startServer(workspace, socket, options, group);
  const client = createRunnerClient({ endpoint: `unix:${socket}` });
  try {
    await untilServing(socket, server);
    const place: Place = { client, socket, folder: workspace.path(), limits: await canLimit(client), ...images };
    const calls = new Calls(place, options);
    await calls.makeQuiet();
    const began = performance.now();
    const usages: ResourceUsage[] = [];
    const callsAt = (look: number): number => Math.ceil((options.calls * look) / LOOKS);
    for (let look = 1; look <= LOOKS; look++) {
      await calls.make(callsAt(look - 1), callsAt(look));
      if (MEMORY_LOOKS.includes(look)) await sleep(FREE_MEMORY_MS);
      const usage = await restingUsage(server.child.pid as number);
      options.onProgress?.(callsAt(look), usage);
      usages.push(usage);
    }
    return {
      calls: options.calls,
      faulty: Array.from({ length: options.calls }, (_, index) => index).filter(isFaulty).length,
      seconds: (performance.now() - began) / 1_000,
      wrong: calls.wrong,
      latencies: calls.latencies,
      usages,
      serving: await isServing(socket),
      said: server.stderr(),
      memoryKills: group?.kills() ?? 0,
    };
  } finally {
    client.close();
    server.child.kill("SIGTERM");
    await server.finished;
  }
}

/** Makes calls, some at a time, and records their outcomes. */
class Calls {
  readonly wrong: SoakReport["wrong"] = { count: 0, first: [] };
  readonly latencies: { readonly quiet: number[]; readonly good: number[] } = { quiet: [], good: [] };
  readonly #place: Place;
  readonly #options: SoakOptions;
  readonly #kinds: { readonly good: readonly Kind[]; readonly faulty: readonly Kind[] };

  constructor(place: Place, options: SoakOptions) {
    this.#place = place;
    this.#options = options;
    this.#kinds = options.servedOnly === true ? SERVED : { good: GOOD, faulty: FAULTY };
  }

  /** Makes good calls alone. */
  async makeQuiet(): Promise<void> {
    const { good } = this.#kinds;
    const kindAt = (index: number): Kind | undefined => good[index % good.length];
    // Indexes that no later call has.
    const [first, timed] = [this.#options.calls, this.#options.calls + UNTIMED_CALLS];
    await this.#each(first, timed, (index) => this.#call(kindAt(index), index));
    await this.#each(timed, timed + QUIET_CALLS, (index) => this.#call(kindAt(index), index, this.latencies.quiet));
  }

  /** Makes the calls of these indexes, good and faulty. */
  async make(from: number, to: number): Promise<void> {
    await this.#each(from, to, async (index) => {
      const kinds = isFaulty(index) ? this.#kinds.faulty : this.#kinds.good;
      const kind = kinds[Math.floor(index / FAULT_EVERY) % kinds.length];
      await this.#call(kind, index, isFaulty(index) ? [] : this.latencies.good);
    });
  }

  async #each(from: number, to: number, call: (index: number) => Promise<void>): Promise<void> {
    let next = from;
    const worker = async (): Promise<void> => {
      while (next < to) await call(next++);
    };
    await Promise.all(Array.from({ length: this.#options.concurrency }, worker));
  }

  async #call(kind: Kind | undefined, index: number, took: number[] = []): Promise<void> {
    const began = performance.now();
    try {
      await kind?.(this.#place, index);
      took.push(performance.now() - began);
    } catch (error) {
      this.wrong.count++;
      if (this.wrong.first.length < FIRST_WRONG) this.wrong.first.push(`call ${index}: ${String(error)}`);
    }
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

function startServer(
  workspace: Workspace,
  socket: string,
  { concurrency, warmPool }: SoakOptions,
  group: MemoryGroup | undefined,
): Started {
  const options = {
    address: `unix:${socket}`,
    "cache-dir": workspace.cache,
    "metrics-address": "off",
    // Calls that pass descriptors come in pairs, and must not wait for each other's slots.
    "max-concurrent": String(2 * concurrency),
    "log-level": "error",
    // Ended before memory is measured.
    idle: "500ms",
    ...(warmPool === undefined ? {} : { "warm-pool": warmPool }),
  };
  const args = ["--allow-network", ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])];
  const command = [process.execPath, RUNNER_MAIN, "serve", ...args];
  return workspace.start(group?.command(command) ?? command, { killAfterMs: MAX_MS });
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
