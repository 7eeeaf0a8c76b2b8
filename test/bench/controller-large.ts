import { setTimeout as sleep } from "node:timers/promises";
import { reportPause } from "./controller.bench.ts";
import { cpuOf, ours, rssOf, startWorld, type World } from "./controller-world.ts";
import { report } from "./figure.ts";

// XFN_BENCH_XRS allows a quicker run. The figures in docs/contributing/benchmarks.md use the default.
const XRS = Number(process.env["XFN_BENCH_XRS"] ?? 20_000);
const PART = 10;
// A poll interval (--poll-interval 1m). XRs of templates alone are polled once an hour, evenly spread.
const STEADY_MS = 60_000;
// Without a request for this long, the controller has settled.
const QUIET_MS = 5_000;
const LOOK_MS = 1_000;
const SETTLED_WITHIN_MS = 600_000;
// The controller's own CRDs, Compositions and the first lists: it has started, and reconciles.
const STARTED_CPU_SECONDS = 1;

/** Measures 20,000 XRs of three resources: growth against a tenth of them, memory, idle cost, and a restart. */
export async function run(): Promise<void> {
  const part = await createdIn(XRS / PART);
  console.error(`bench: controller: ${XRS} XRs`);
  await using world = await startWorld(ours());
  const name = `controller/${XRS}`;
  const whole = await created(world, XRS);
  report({ name: `${name}/growth`, value: whole.allMs / part.allMs / PART, unit: "times", runs: 1, goal: 1 });
  report({ name: `${name}/cpu-growth`, value: whole.cpuMs / part.cpuMs / PART, unit: "times", runs: 1 });
  await settled(world);
  await steady(world, name);
  reportPause(world, `${name}/longest-pause`);
  const restart = await restarted(world);
  reportPause(world, `${name}/restart-longest-pause`);
  report({ name: `${name}/restart`, value: restart.ms, unit: "ms", runs: 1, goal: 60_000 });
  report({ name: `${name}/restart-writes`, value: restart.writes, unit: "requests", runs: 1, goal: 0 });
  report({ name: `${name}/restart-rss`, value: rssOf(world.controllerPid), unit: "MB", runs: 1, goal: 600 });
}

async function createdIn(count: number): Promise<Cost> {
  console.error(`bench: controller: ${count} XRs`);
  await using world = await startWorld(ours());
  return await created(world, count);
}

/** The cost of creating XRs. */
interface Cost {
  /** Until all are Ready. */
  readonly allMs: number;
  /** CPU time of the controller. On a busy machine only this is comparable. */
  readonly cpuMs: number;
}

async function created(world: World, count: number): Promise<Cost> {
  await world.create("warm-", 10);
  const before = cpuOf(world.controllerPid);
  const { allMs } = await world.create("xr-", count);
  const cpuMs = (cpuOf(world.controllerPid) - before) * 1000;
  report({ name: `controller/${count}/all-ready`, value: allMs, unit: "ms", runs: 1 });
  report({ name: `controller/${count}/cpu`, value: cpuMs, unit: "ms", runs: 1 });
  return { allMs, cpuMs };
}

async function steady(world: World, name: string): Promise<void> {
  const before = await world.requests();
  const controller = cpuOf(world.controllerPid);
  await sleep(STEADY_MS);
  const cpu = cpuOf(world.controllerPid) - controller;
  const after = await world.requests();
  report({ name: `${name}/steady-cpu`, value: (cpu * 100_000) / STEADY_MS, unit: "% of a core", runs: 1, goal: 8 });
  report({ name: `${name}/steady-requests`, value: after.all - before.all, unit: "requests", runs: 1, goal: 0 });
  report({ name: `${name}/rss`, value: rssOf(world.controllerPid), unit: "MB", runs: 1, goal: 600 });
}

/**
 * Restarts the controller. It is steady when it sends no requests and uses no more CPU than its polls.
 *
 * @returns milliseconds from the start until then, and the writes meanwhile
 */
async function restarted(world: World): Promise<{ ms: number; writes: number }> {
  const before = await world.requests();
  await world.restart();
  const began = performance.now();
  await until(() => cpuOf(world.controllerPid) >= STARTED_CPU_SECONDS);
  const steadyAt = await settled(world);
  const after = await world.requests();
  return { ms: steadyAt - began, writes: after.writes - before.writes };
}

/** Waits until the controller is idle. @returns when its last work ended */
async function settled(world: World): Promise<number> {
  let quietSince = performance.now();
  let { all } = await world.requests();
  let cpu = cpuOf(world.controllerPid);
  await until(async () => {
    const lastMs = performance.now();
    await sleep(LOOK_MS);
    const now = await world.requests();
    const used = cpuOf(world.controllerPid) - cpu;
    // A first reconcile of all objects occupies a core; polls of settled ones take a small part of it.
    const isBusy = (used * 1000) / (performance.now() - lastMs) > 1 / 2;
    if (now.all !== all || isBusy) quietSince = performance.now();
    all = now.all;
    cpu += used;
    return performance.now() - quietSince >= QUIET_MS;
  });
  return quietSince;
}

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + SETTLED_WITHIN_MS;
  while (!(await done())) {
    if (performance.now() > end) throw new Error(`the controller was not idle within ${SETTLED_WITHIN_MS / 1000} s`);
    await sleep(LOOK_MS);
  }
}
