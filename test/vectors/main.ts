// npm run vectors [-- DIR] [--all] [--case NAME] [--group NAME]: runs the vectors of a folder, by default this one.
// npm run vectors [-- DIR] --mutate N [--seed S] [--keep NEW]: runs N cases that mutations derive from them, and writes
// those that fail to the folder NEW, which is one of vectors.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { mutatedCases, readCases } from "./mutate/mutate.ts";
import { printLossless } from "./mutate/mutation.ts";
import { rules } from "./rules.ts";
import { type Failure, type Report, runCases, runFolder } from "./run.ts";
import type { VectorCase } from "./vector-file.ts";

const SHOWN = 20;
const here = import.meta.dirname;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      all: { type: "boolean" },
      case: { type: "string" },
      group: { type: "string" },
      mutate: { type: "string" },
      seed: { type: "string", default: "1" },
      keep: { type: "string" },
    },
  });
  const [folder = here, ...rest] = positionals;
  if (rest.length > 0 || !existsSync(folder)) {
    console.error(`vectors: ${rest.length > 0 ? "one folder at a time" : `there is no folder ${folder}`}`);
    return 2;
  }
  const { mutate, keep } = values;
  if (mutate !== undefined) {
    const [count, seed] = [Number(mutate), Number(values.seed)];
    if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(seed)) {
      console.error("vectors: --mutate and --seed must be integers, --mutate at least 1");
      return 2;
    }
    const { report, failed } = await runCases(mutatedCases(readCases(folder), { count, seed }), rules);
    if (keep !== undefined) write(keep, failed);
    return print(report, values.all === true);
  }
  const whole = values.case === undefined && values.group === undefined;
  const report = await runFolder(folder, rules, { name: values.case, group: values.group });
  // In another folder a rule may match no case.
  const idle = whole && folder === here ? [...report.rules].filter(([, count]) => count === 0) : [];
  for (const [name] of idle) console.log(`rule without a case, to be removed: ${name}`);
  return Math.max(print(report, values.all === true), idle.length > 0 ? 1 : 0);
}

/** Prints a report. Returns the exit code. */
function print(report: Report, all: boolean): number {
  const shown = all ? report.failures : report.failures.slice(0, SHOWN);
  for (const failure of shown) console.log(describe(failure));
  if (shown.length < report.failures.length) {
    console.log(`... and ${report.failures.length - shown.length} more (--all shows them)`);
    for (const [group, count] of countByGroup(report.failures)) console.log(`  ${count} in ${group}`);
  }
  for (const name of report.unknown) console.log(`not run: ${name} is not a kind of file that is known here`);
  for (const [why, count] of report.skipped) console.log(`skipped: ${count} of ${why}`);
  for (const [name, count] of report.rules) if (count > 0) console.log(`rule: ${name} is about ${count}`);
  console.log(summary(report));
  const ran = report.passed + report.failures.length > 0 || report.skipped.size > 0;
  if (!ran) console.error("vectors: nothing to run there");
  return report.failures.length > 0 || !ran ? 1 : 0;
}

/** Writes cases to a folder of vectors. */
function write(folder: string, cases: readonly { file: string; vector: VectorCase }[]): void {
  mkdirSync(folder, { recursive: true });
  for (const kind of new Set(cases.map(({ file }) => file))) {
    const own = cases.filter(({ file }) => file === kind).map(({ vector }) => vector);
    writeFileSync(join(folder, `${kind}.json`), printLossless({ cases: own }));
  }
}

function describe({ file, group, name, rule, at, expected, got }: Failure): string {
  const head = `FAILED ${file}/${group}: ${name}${rule === undefined ? "" : ` (rule: ${rule})`}`;
  return `${head}\n  expected${at === undefined ? "" : ` ${at}`} ${expected}\n  got ${got}`;
}

function countByGroup(failures: readonly Failure[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { file, group } of failures) counts.set(`${file}/${group}`, (counts.get(`${file}/${group}`) ?? 0) + 1);
  return counts;
}

function summary(report: Report): string {
  const skipped = [...report.skipped.values()].reduce((sum, count) => sum + count, 0);
  return `${report.passed} passed, ${report.failures.length} failed, ${skipped} skipped`;
}
