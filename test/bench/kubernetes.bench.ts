import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startApiServer } from "../harness/api-server.ts";
import { which } from "../harness/which.ts";
import { interleave, median, report } from "./figure.ts";

const COUNT = 1_000;
const CONCURRENCY = 20;
const RUNS = 7;

interface Applier {
  /** Milliseconds for one round. */
  round(): Promise<number>;
  /** CPU of the process so far, in milliseconds. */
  cpu(): number;
  stop(): Promise<void>;
}

/**
 * Measures 1,000 server-side applies, 20 at a time, with our client and, if Go is installed, with client-go. Each
 * client runs in a long-lived process, like a controller. They take turns on the same API server, after a warm-up
 * round.
 */
export async function run(): Promise<void> {
  const server = await startApiServer();
  const folder = await mkdtemp(join(tmpdir(), "kubernetes-peer-"));
  const appliers: Applier[] = [];
  const start = (program: string, ...args: string[]): Applier => {
    const applier = startApplier(program, [...args, server.admin.kubeconfig, "default", `${COUNT}`, `${CONCURRENCY}`]);
    appliers.push(applier);
    return applier;
  };
  try {
    const ours = start(process.execPath, here("kubernetes-child.ts"));
    const go = which("go");
    if (go === undefined) {
      console.error("bench: Go is not installed, so there is no comparison");
      await ours.round();
      const times: number[] = [];
      for (let at = 0; at < RUNS; at++) times.push(await ours.round());
      report({ name: "kubernetes/apply", value: median(times), unit: "ms", runs: RUNS });
      return;
    }
    const program = join(folder, "peer");
    await promisify(execFile)(go, ["build", "-o", program, "."], { cwd: here("kubernetes-peer") });
    const peer = start(program);
    const cpu: [number, number] = [0, 0];
    const times = await interleave(
      RUNS,
      () => counted(ours, (ms) => (cpu[0] += ms)),
      () => counted(peer, (ms) => (cpu[1] += ms)),
    );
    const name = "client-go 0.34";
    const goal = 1 / 0.9; // 90 % of its speed
    report({
      name: "kubernetes/apply",
      value: times.ours,
      unit: "ms",
      runs: RUNS,
      peer: { name, value: times.peer },
      ratio: times.ratio,
      goal,
    });
    report({
      name: "kubernetes/apply-cpu",
      value: cpu[0] / (RUNS + 1),
      unit: "ms",
      runs: RUNS + 1,
      peer: { name, value: cpu[1] / (RUNS + 1) },
      ratio: cpu[0] / cpu[1],
    });
  } finally {
    await Promise.all(appliers.map((applier) => applier.stop()));
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

async function counted(applier: Applier, add: (ms: number) => void): Promise<number> {
  const before = applier.cpu();
  const ms = await applier.round();
  add(applier.cpu() - before);
  return ms;
}

function startApplier(program: string, args: readonly string[]): Applier {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  let rounds = 0;
  return {
    async round() {
      // Each process uses different names, because an apply without changes is cheaper.
      child.stdin.write(`p${child.pid}-${rounds++}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${program} ended`);
      return (JSON.parse(value) as { seconds: number }).seconds * 1000;
    },
    cpu() {
      // proc(5): user and system time are the 12th and 13th field after the name, in ticks of 10 ms.
      const fields = readFileSync(`/proc/${child.pid}/stat`, "latin1")
        .replace(/^.*\) /s, "")
        .split(" ");
      return (Number(fields[11]) + Number(fields[12])) * 10;
    },
    async stop() {
      child.stdin.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

function here(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
