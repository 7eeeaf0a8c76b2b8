import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { openPlace, type SweepPlace } from "./place.ts";
import { random, shuffled } from "./random.ts";
import { SCENARIOS } from "./scenarios/index.ts";
import { Baselines, type Case, crashes, schedule, sweep } from "./sweep.ts";

// Controllers that crash at their writes, have bad luck with them, and see what was: always the same is to come of it. This is a
// sample; `npm run sweep` is all of it.

// CI runs the tests twice, once as root. Who runs them has no part in what is tested here.
const WHOLE = process.getuid?.() === 0;
const CRASHES = WHOLE ? 60 : 10;
const SCHEDULES = WHOLE ? 200 : 10;
// Some 60 s on two cores that have nothing else to do, and twice that beside other tests. On a slower machine the sample is a
// smaller one.
const BUDGET_MS = WHOLE ? 150_000 : 15_000;
// The same sample each time, so that a change fails for what it changed; XFN_SWEEP_SEED for another one.
const SEED = Number(process.env["XFN_SWEEP_SEED"] ?? 1);
const TIMEOUT_MS = 600_000;
const CONCURRENCY = 3;

describe("the crash sweep", needs("api-server"), () => {
  let place: SweepPlace;
  let baselines: Baselines;
  const sound: (typeof SCENARIOS)[number][] = [];
  beforeAll(async () => {
    place = await openPlace();
    baselines = new Baselines(place);
  });
  afterAll(async () => {
    await place[Symbol.asyncDispose]();
  });

  test("has scenarios enough", () => {
    expect(SCENARIOS.length).toBeGreaterThanOrEqual(20);
    expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
  });

  test.each(SCENARIOS)("undisturbed: $name", { timeout: TIMEOUT_MS }, async (scenario) => {
    await baselines.of(scenario);
    sound.push(scenario);
  });

  test("crashed, late or unlucky at its writes a controller comes to the same", { timeout: TIMEOUT_MS }, async () => {
    const next = random(SEED);
    const all: Case[] = [];
    for (const scenario of sound) all.push(...(await crashes(scenario, baselines)));
    const cases = [
      ...shuffled(all, next).slice(0, CRASHES),
      ...Array.from({ length: SCHEDULES }, (_, index) => schedule(sound, SEED + index)),
    ];
    const end = Date.now() + BUDGET_MS;
    let ran = 0;
    const failures = await sweep(shuffled(cases, next), place, baselines, {
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
