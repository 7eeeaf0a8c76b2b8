// npm run fuzz -- hostile-servers [TEXT]: calls hostile servers with all clients, makes good calls meanwhile, and
// prints a line of JSON. TEXT selects the kinds whose names contain it.
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { isTypedError } from "../../vectors/adapter.ts";
import { type Attack, attacksOf, callFunction, callWebhook } from "./attacks.ts";
import { startServers } from "./start-servers.ts";

/** A call that lasts until then has not been ended by a bound. */
const DEADLINE_MS = 15_000;
/** The deadline of a call of a server that falls silent, such as one that refused the first attempt. */
const SILENCE_MS = 2_000;
/** The most processor time of this thread that one server may cost. */
const MAX_CPU_MS = 50;
/** The first runs of code, and good calls, take time too. Only a server that costs too much in each rerun counts. */
const RERUNS = 3;
/** The memory of the process. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Half of them warm up. The 99th percentile of a few hundred calls would vary by more than half. */
const ALONE_CALLS = 2000;

interface Cost {
  readonly cpuMs: number;
  readonly problem: string | undefined;
}

using servers = await startServers();
const { good } = servers.ports;
const attacks = attacksOf(servers.ports).filter(({ name }) => name.includes(process.argv[2] ?? ""));
const goodCall = async (): Promise<void> => {
  await callFunction(good.http2, DEADLINE_MS);
  await callWebhook(good.https, DEADLINE_MS);
};

const alone: number[] = [];
for (let call = 0; call < ALONE_CALLS; call++) await timed(goodCall, alone);
alone.splice(0, alone.length / 2);
const beside: number[] = [];
const failures: string[] = [];
let slowest = { name: "", cpuMs: 0 };
for (const attack of attacks) {
  await besideGoodCalls(attack);
  let best = await costOf(attack);
  for (let rerun = 0; rerun < RERUNS && best.problem === undefined && best.cpuMs > MAX_CPU_MS; rerun++) {
    const again = await costOf(attack);
    if (again.cpuMs < best.cpuMs) best = again;
  }
  const { cpuMs, problem } = best;
  console.error(`${attack.name}: ${cpuMs.toFixed(1)} ms`);
  if (attack.kind.isContent !== true && cpuMs > slowest.cpuMs)
    slowest = { name: attack.name, cpuMs: Math.round(cpuMs) };
  if (problem !== undefined) failures.push(`${attack.name}: ${problem}`);
  else if (attack.kind.isContent !== true && cpuMs > MAX_CPU_MS)
    failures.push(`${attack.name}: cost ${Math.round(cpuMs)} ms of the main thread`);
}
const peakBytes = 1024 * Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
if (peakBytes > MAX_BYTES) failures.push(`the process took ${peakBytes} bytes, and the bound is ${MAX_BYTES}`);
const p99Ratio = Number((percentile(beside, 99) / percentile(alone, 99)).toFixed(2));
if (p99Ratio >= 3) failures.push(`good calls took ${p99Ratio} times as long (p99)`);
console.log(
  JSON.stringify({ kinds: attacks.length, failures, p99Ratio, peakMiB: Math.round(peakBytes / 2 ** 20), slowest }),
);
process.exitCode = failures.length > 0 ? 1 : 0;

async function besideGoodCalls(attack: Attack): Promise<void> {
  let isOver = false;
  const over = attack.run(deadlineOf(attack)).then(
    () => (isOver = true),
    () => (isOver = true),
  );
  do await timed(goodCall, beside);
  while (!isOver);
  await over;
}

async function costOf(attack: Attack): Promise<Cost> {
  const began = performance.now();
  const { user, system } = process.threadCpuUsage();
  let problem: string | undefined;
  try {
    await attack.run(deadlineOf(attack));
  } catch (error) {
    if (!isTypedError(error)) problem = `threw ${String(error)}`;
  }
  await turn();
  const after = process.threadCpuUsage();
  const isFlood = attack.kind.flood !== undefined;
  if (isFlood && performance.now() - began >= DEADLINE_MS) problem ??= "the call lasted until its deadline";
  return { cpuMs: (after.user + after.system - user - system) / 1000, problem };
}

function deadlineOf({ kind }: Attack): number {
  return kind.flood === undefined ? SILENCE_MS : DEADLINE_MS;
}

async function timed(call: () => Promise<void>, into: number[]): Promise<void> {
  const began = performance.now();
  await call();
  into.push(performance.now() - began);
}

function percentile(values: readonly number[], percent: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(((values.length - 1) * percent) / 100)] ?? 0;
}
