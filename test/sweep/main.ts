// Runs every crash of every scenario, then random schedules of faults. The last line is `N passed, N failed`.
import { randomInt } from "node:crypto";
import process from "node:process";
import { parseArgs } from "node:util";
import { manyDefinitions } from "./many-definitions.ts";
import { random, shuffled } from "./random.ts";
import { SCENARIOS } from "./scenarios/index.ts";
import { Baselines, type Case, crashes, type Failure, schedule, sweep } from "./sweep.ts";
import { openTestbed } from "./testbed.ts";
import { recordTranscripts } from "./transcripts.ts";

const USAGE = `npm run sweep -- [OPTIONS]
  --scenario TEXT    only scenarios whose name contains TEXT
  --case TEXT        only cases whose name contains TEXT, such as "write 9, crash before" or "schedule"
  --schedules N      random schedules of faults (default 200)
  --seed N           the seed of the schedules and of the order (default: random)
  --sample N         only N cases, a random part of all
  --concurrency N    cases at a time (default 3)
  --record           writes the transcripts of the undisturbed runs anew, and does nothing else
  --definitions N    runs the controller over HTTP/1.1 with N definitions, and nothing else
`;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    schedules: { type: "string", default: "200" },
    sample: { type: "string" },
    scenario: { type: "string", default: "" },
    case: { type: "string", default: "" },
    concurrency: { type: "string", default: "3" },
    definitions: { type: "string" },
    record: { type: "boolean" },
    help: { type: "boolean" },
  },
});
if (values.help === true) {
  process.stdout.write(`${USAGE}\nScenarios:\n${SCENARIOS.map(({ name }) => `  ${name}\n`).join("")}`);
  process.exit(0);
}
// Exit at once: the server ends with the process.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

if (values.definitions !== undefined) {
  await using testbed = await openTestbed();
  const began = Date.now();
  let failed = 0;
  const onComplaint = (line: string): void => {
    failed = 1;
    process.stdout.write(`${line}\n`);
  };
  await manyDefinitions(testbed.server, { count: Number(values.definitions), onComplaint }).catch((error: unknown) => {
    failed = 1;
    process.stdout.write(`FAILED ${error instanceof Error ? error.stack : String(error)}\n`);
  });
  process.stdout.write(`${Math.round((Date.now() - began) / 1000)} s\n${1 - failed} passed, ${failed} failed\n`);
  await testbed[Symbol.asyncDispose]();
  process.exit(failed);
}
if (values.record === true) {
  await using testbed = await openTestbed();
  await recordTranscripts(new Baselines(testbed), SCENARIOS, Number(values.concurrency));
  await testbed[Symbol.asyncDispose]();
  process.exit(0);
}
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
process.stdout.write(`seed ${seed}\n`);

// An API server slows down with each CRD that it ever had: a case takes 1.3 s on a new one, and 3 s after some 2,400
// others.
const CASES_PER_SERVER = 400;

const scenarios = SCENARIOS.filter(({ name }) => name.includes(values.scenario));
let unsound = 0;
const { cases, baselines } = await allCrashes();
process.stdout.write(`${cases.length} crashes of ${scenarios.length} scenarios\n`);
const sound = scenarios.filter((scenario) => cases.some((one) => one.scenario === scenario));
for (let index = 0; sound.length > 0 && index < Number(values.schedules); index++)
  cases.push(schedule(sound, seed + index));
const wanted = cases.filter(({ name }) => name.includes(values.case));
// Shuffled, so that every part is a sample of all.
const chosen = shuffled(wanted, random(seed)).slice(0, Number(values.sample ?? wanted.length));

const report = ({ scenario, name, problems }: Failure): void => {
  process.stdout.write(`FAILED ${scenario}: ${name}\n${problems.map((line) => `  ${line}\n`).join("")}`);
};
const started = Date.now();
let done = 0;
let failed = 0;
for (let from = 0; from < chosen.length; from += CASES_PER_SERVER) {
  await using testbed = await openTestbed();
  const failures = await sweep(chosen.slice(from, from + CASES_PER_SERVER), testbed, baselines, {
    concurrency: Number(values.concurrency),
    onCase: (_, failure) => {
      if (failure !== undefined) report(failure);
      if (++done % 50 === 0)
        process.stdout.write(`${done} of ${chosen.length} in ${Math.round((Date.now() - started) / 1000)} s\n`);
    },
  });
  failed += failures.length;
}
process.stdout.write(`${done - failed} passed, ${failed + unsound} failed\n`);
process.exitCode = failed + unsound === 0 ? 0 : 1;

/** The crashes of all scenarios that succeed undisturbed, and their undisturbed runs. */
async function allCrashes(): Promise<{ cases: Case[]; baselines: Baselines }> {
  await using testbed = await openTestbed();
  const cases: Case[] = [];
  const baselines = new Baselines(testbed);
  for (const scenario of scenarios) {
    try {
      cases.push(...(await crashes(scenario, baselines)));
    } catch (error) {
      unsound++;
      process.stdout.write(
        `FAILED ${scenario.name}, undisturbed: ${error instanceof Error ? error.stack : String(error)}\n`,
      );
    }
  }
  return { cases, baselines };
}
