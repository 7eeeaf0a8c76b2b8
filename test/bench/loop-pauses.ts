import { appendFileSync } from "node:fs";
import process from "node:process";

// Loaded into a measured process before its program (--import). Appends each long pause of the event loop to the file
// XFN_BENCH_PAUSES: milliseconds, and those in which the main thread used a processor. On a busy machine only the
// latter are comparable, because the others include the time of other programs.

const TICK_MS = 20;
const LONG_MS = 50;

const file = process.env["XFN_BENCH_PAUSES"] ?? "";
let lastMs = performance.now();
let lastCpu = cpuMs();

setInterval(() => {
  const now = performance.now();
  const cpu = cpuMs();
  const pauseMs = now - lastMs - TICK_MS;
  if (pauseMs >= LONG_MS) appendFileSync(file, `${pauseMs} ${Math.min(pauseMs, cpu - lastCpu)}\n`);
  lastMs = now;
  lastCpu = cpu;
}, TICK_MS).unref();

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
