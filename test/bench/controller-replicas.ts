import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiServer } from "@xfn/dev-cluster";
import type { Contender } from "./controller-world.ts";

const LOOK_MS = 100;

/** The running replicas of a controller. With leader election there are two, and one of them reconciles. */
export class Replicas implements AsyncDisposable {
  readonly #contender: Contender;
  readonly #server: ApiServer;
  readonly #running: Replica[] = [];
  #leader: Replica | undefined;

  constructor(contender: Contender, server: ApiServer) {
    this.#contender = contender;
    this.#server = server;
  }

  async start(): Promise<void> {
    const count = this.#contender.hasStandby === true ? 2 : 1;
    while (this.#running.length < count) this.#running.push(await startReplica(this.#contender, this.#server));
    this.#leader = undefined;
  }

  /** Whether one has ended. */
  get hasEnded(): boolean {
    return this.#running.some(({ child }) => child.exitCode !== null || child.signalCode !== null);
  }

  /** The process that reconciles. */
  get leaderPid(): number {
    return (this.#leader ?? this.#running[0])?.child.pid ?? 0;
  }

  /** Ends the one that reconciles; a standby takes over, and another one starts. */
  async replaceLeader(): Promise<void> {
    await this.look();
    const last = this.#running.findIndex(({ child }) => child.pid === this.leaderPid);
    for (const { child } of this.#running.splice(last, 1)) await stop(child);
    await this.start();
    if (this.#contender.hasStandby !== true) return;
    for (await this.look(); this.#leader === undefined; await this.look()) await sleep(LOOK_MS);
  }

  /** The longest pauses of an event loop of the running replicas since the last call. */
  longestPause(): Pause {
    const all = this.#running.flatMap((replica) => readPauses(replica));
    return { ms: Math.max(0, ...all.map(({ ms }) => ms)), cpuMs: Math.max(0, ...all.map(({ cpuMs }) => cpuMs)) };
  }

  /** Finds the leader by the metrics of all replicas. */
  async look(): Promise<void> {
    for (const replica of this.#running) {
      const text = replica.port === undefined ? "" : await metricsOf(replica.port);
      if (/^xfn_controller_leader 1$/m.test(text)) this.#leader = replica;
      // A process that loads its modules serves nothing yet.
      if (text !== "" && !replica.isServing) readPauses(replica);
      replica.isServing ||= text !== "";
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running.map(({ child }) => stop(child)));
  }
}

interface Replica {
  readonly child: ChildProcess;
  /** The port of its metrics. */
  readonly port: number | undefined;
  /** The file of `loop-pauses.ts`. */
  readonly pauses: string;
  /** The bytes of it that were read. */
  read: number;
  isServing: boolean;
}

/** Pauses of an event loop. */
export interface Pause {
  /** The longest one. */
  readonly ms: number;
  /** The most processor time of the main thread in one. */
  readonly cpuMs: number;
}

/** The pauses since the last call. */
function readPauses(replica: Replica): Pause[] {
  if (!existsSync(replica.pauses)) return [];
  const text = readFileSync(replica.pauses, "utf8");
  const lines = text.slice(replica.read).trim().split("\n");
  replica.read = text.length;
  return lines.flatMap((line) => {
    const [ms, cpuMs] = line.split(" ").map(Number);
    return ms === undefined || cpuMs === undefined ? [] : [{ ms, cpuMs }];
  });
}

async function startReplica({ command, args, env, hasStandby }: Contender, server: ApiServer): Promise<Replica> {
  const port = hasStandby === true ? await freePort() : undefined;
  const metrics = port === undefined ? [] : ["--leader-election", "--metrics-address", `127.0.0.1:${port}`];
  const pauses = join(server.folder, `pauses-${randomUUID()}`);
  // The kernel kills the controller when the benchmark ends in any way.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", command, ...args, ...metrics], {
    env: {
      PATH: process.env["PATH"],
      HOME: server.folder,
      KUBECONFIG: server.admin.kubeconfig,
      XFN_BENCH_PAUSES: pauses,
      ...env,
    },
    stdio: ["ignore", "ignore", process.env["XFN_BENCH_VERBOSE"] === undefined ? "ignore" : "inherit"],
  });
  return { child, port, pauses, read: 0, isServing: false };
}

async function metricsOf(port: number): Promise<string> {
  try {
    return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  } catch {
    // The replica is still starting.
    return "";
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "localhost"), "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const killed = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(killed);
}
