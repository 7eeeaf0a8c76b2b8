import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { random, shuffled } from "./random.ts";
import { SCENARIOS } from "./scenarios/index.ts";
import { Baselines, type Case, crashes, schedule, sweep } from "./sweep.ts";
import { openTestbed, type SweepTestbed } from "./testbed.ts";
import { readTranscripts } from "./transcripts.ts";

// Controllers that crash at their writes, get faults, and have stale caches: the result must always be the same. This
// is a sample of `npm run sweep`.

const CRASHES = 30;
const SCHEDULES = 60;
// On a slow machine the sample is smaller.
const BUDGET_MS = 60_000;
// Always the same sample, so that a failure is due to a change. XFN_SWEEP_SEED selects another one.
const SEED = Number(process.env["XFN_SWEEP_SEED"] ?? 1);
const TIMEOUT_MS = 600_000;
const CONCURRENCY = 3;

describe("the crash sweep", needs("api-server"), () => {
  let testbed: SweepTestbed;
  let baselines: Baselines;
  let transcripts: Awaited<ReturnType<typeof readTranscripts>>;
  const sound: (typeof SCENARIOS)[number][] = [];
  beforeAll(async () => {
    transcripts = await readTranscripts();
    testbed = await openTestbed();
    baselines = new Baselines(testbed);
    // Most of a run is waiting. The tests below report failures.
    const rest = [...SCENARIOS];
    const worker = async (): Promise<void> => {
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
        await baselines.of(next).catch(() => undefined);
      }
    };
    for (let index = 0; index < CONCURRENCY; index++) void worker();
  });
  afterAll(async () => {
    await testbed[Symbol.asyncDispose]();
  });

  test("has enough scenarios", () => {
    expect(SCENARIOS.length).toBeGreaterThanOrEqual(20);
    expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
  });

  test.each(SCENARIOS)("undisturbed: $name", { timeout: TIMEOUT_MS }, async (scenario) => {
    const { transcript } = await baselines.of(scenario);
    sound.push(scenario);
    // Every write with its actor and field manager, in order. After an intended change: npm run sweep -- --record
    expect(transcript).toEqual(transcripts[scenario.name]);
  });

  test("a controller with crashes, late writes and faults has the same result", { timeout: TIMEOUT_MS }, async () => {
    const next = random(SEED);
    const all: Case[] = [];
    for (const scenario of sound) all.push(...(await crashes(scenario, baselines)));
    const cases = [
      ...shuffled(all, next).slice(0, CRASHES),
      ...Array.from({ length: SCHEDULES }, (_, index) => schedule(sound, SEED + index)),
    ];
    const end = Date.now() + BUDGET_MS;
    let ran = 0;
    const failures = await sweep(shuffled(cases, next), testbed, baselines, {
      concurrency: CONCURRENCY,
      isEnough: () => Date.now() > end,
      onCase: (done) => {
        ran = done;
      },
    });
    process.stdout.write(
      `crash sweep: seed ${SEED}, ${ran} of ${cases.length} cases drawn from ${all.length} crashes and any schedules\n`,
    );
    expect(failures, `npm run sweep -- --seed ${SEED}`).toEqual([]);
    expect(ran).toBeGreaterThan(0);
  });
});
