import { setTimeout as sleep } from "node:timers/promises";
import { type Contender, cpuOf, ours, peer, rssOf, startWorld, type World } from "./controller-world.ts";
import { type Figure, median, report } from "./figure.ts";

// XFN_BENCH_RUNS allows a quick run. The figures in docs/contributing/benchmarks.md use the default.
const RUNS = Number(process.env["XFN_BENCH_RUNS"] ?? 3);
const XRS = 200;
const MANY_XRS = 2_000;
// Long enough for one poll of each XR (--poll-interval 1m).
const STEADY_MS = 60_000;
const AFTER_MS = 10_000;
// Time for the last status updates and their consequences.
const SETTLE_MS = 2_000;
/**
 * The goal for pauses of the event loop, with any number of XRs: a probe has a second by default, and the lease must be
 * renewed.
 */
const LONGEST_PAUSE_MS = 500;

/** The cost of 200 XRs. */
interface Small {
  readonly firstMs: number;
  readonly allMs: number;
  readonly requestsPerXr: number;
  readonly requestsAfter: number;
  readonly writesAfter: number;
  readonly controllerCpuMs: number;
  readonly serverCpuMs: number;
  readonly rssMb: number;
  /** The longest pause of the event loop. */
  readonly longestPauseMs: number;
  readonly longestPauseCpuMs: number;
}

/** Measures 200 XRs of three resources each, with our controller and the peer in turn, then 2,000 XRs with ours. */
export async function run(): Promise<void> {
  const rival = peer();
  const mine: Small[] = [];
  const theirs: Small[] = [];
  for (let index = 0; index < RUNS; index++) {
    mine.push(await small(ours()));
    if (rival !== undefined) theirs.push(await small(rival));
  }
  const figure = (name: string, key: keyof Small, unit: Figure["unit"], goal?: number): void => {
    const value = median(mine.map((each) => each[key]));
    const other = theirs.length === 0 ? undefined : median(theirs.map((each) => each[key]));
    // With a ratio, the goal would apply to the ratio instead of the value.
    report({ name: `controller/${XRS}/${name}`, value, unit, runs: RUNS, ...(goal === undefined ? {} : { goal }) });
    if (other !== undefined && rival !== undefined)
      report({ name: `controller/${XRS}/${name}/${rival.name}`, value: other, unit, runs: RUNS });
  };
  figure("first-ready", "firstMs", "ms");
  figure("all-ready", "allMs", "ms", 3_000);
  figure("requests-per-xr", "requestsPerXr", "requests", 12);
  figure("requests-per-xr-after", "requestsAfter", "requests");
  figure("writes-after", "writesAfter", "requests", 0);
  figure("cpu", "controllerCpuMs", "ms");
  figure("api-server-cpu", "serverCpuMs", "ms");
  figure("rss", "rssMb", "MB", 150);
  figure("longest-pause", "longestPauseMs", "ms", LONGEST_PAUSE_MS);
  figure("longest-pause-cpu", "longestPauseCpuMs", "ms", LONGEST_PAUSE_MS);
  await large(median(mine.map(({ allMs }) => allMs)));
}

async function small(contender: Contender): Promise<Small> {
  console.error(`bench: controller: ${XRS} XRs, ${contender.name}`);
  await using world = await startWorld(contender);
  // Warm up, because a controller runs for weeks.
  await world.create("warm-", 10);
  await sleep(SETTLE_MS);
  const before = await world.requests();
  const controller = cpuOf(world.controllerPid);
  const server = cpuOf(world.serverPid);
  const { firstMs, allMs } = await world.create("xr-", XRS);
  const controllerCpuMs = (cpuOf(world.controllerPid) - controller) * 1000;
  const serverCpuMs = (cpuOf(world.serverPid) - server) * 1000;
  const ready = await world.requests();
  await sleep(SETTLE_MS);
  const settled = await world.requests();
  await sleep(AFTER_MS);
  const after = await world.requests();
  const pause = world.longestPause();
  return {
    firstMs,
    allMs,
    // Without the benchmark's own creates of the XRs.
    requestsPerXr: (ready.all - before.all) / XRS - 1,
    requestsAfter: (after.all - ready.all) / XRS,
    writesAfter: after.writes - settled.writes,
    controllerCpuMs,
    serverCpuMs,
    rssMb: rssOf(world.controllerPid),
    longestPauseMs: pause.ms,
    longestPauseCpuMs: pause.cpuMs,
  };
}

async function large(smallMs: number): Promise<void> {
  console.error(`bench: controller: ${MANY_XRS} XRs`);
  await using world = await startWorld(ours());
  await world.create("warm-", 10);
  const { allMs } = await world.create("xr-", MANY_XRS);
  await sleep(SETTLE_MS);
  const before = await world.requests();
  const controller = cpuOf(world.controllerPid);
  await sleep(STEADY_MS);
  const cpu = cpuOf(world.controllerPid) - controller;
  const after = await world.requests();
  const name = `controller/${MANY_XRS}`;
  report({ name: `${name}/all-ready`, value: allMs, unit: "ms", runs: 1 });
  // Ten times as many XRs in ten times the time, plus a fifth for the fuller server.
  report({ name: `${name}/growth`, value: allMs / smallMs / (MANY_XRS / XRS), unit: "times", runs: 1, goal: 1.2 });
  report({ name: `${name}/steady-cpu`, value: (cpu * 100_000) / STEADY_MS, unit: "% of a core", runs: 1, goal: 5 });
  report({ name: `${name}/steady-writes`, value: after.writes - before.writes, unit: "requests", runs: 1, goal: 0 });
  report({ name: `${name}/rss`, value: rssOf(world.controllerPid), unit: "MB", runs: 1 });
  reportPause(world, `${name}/longest-pause`);
  // The standby lists and reconciles all XRs.
  await world.restart();
  await sleep(STEADY_MS);
  reportPause(world, `${name}/restart-longest-pause`);
}

/** Reports the longest pause of the event loop since the last report, and the most processor time in one. */
export function reportPause(world: World, name: string): void {
  const { ms, cpuMs } = world.longestPause();
  report({ name, value: ms, unit: "ms", runs: 1, goal: LONGEST_PAUSE_MS });
  report({ name: `${name}-cpu`, value: cpuMs, unit: "ms", runs: 1, goal: LONGEST_PAUSE_MS });
}
