// npm run fuzz [-- --runs N] [--seed S] [--target NAME] [--path P]: feeds hostile input to everything that reads input.
// npm run fuzz -- hostile-servers [TEXT]: see hostile-servers/clients.ts.
// npm run fuzz -- cel [--rules N] [--seed S]: see cel/main.ts.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { TARGETS, WEIGHTS } from "./targets.ts";
import { FuzzThread, share } from "./watch.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000000" },
    seed: { type: "string" },
    path: { type: "string" },
    target: { type: "string", multiple: true },
  },
});

const runs = Number(values.runs);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const wanted = values.target ?? Object.keys(TARGETS);
const unknown = wanted.filter((name) => !Object.hasOwn(TARGETS, name));
if (!Number.isSafeInteger(runs) || runs < 1 || !Number.isSafeInteger(seed) || unknown.length > 0) {
  console.error(
    unknown.length > 0
      ? `fuzz: no such target: ${unknown.join(", ")} (there are ${Object.keys(TARGETS).join(", ")})`
      : "fuzz: --runs and --seed are whole numbers",
  );
  process.exit(2);
}

console.log(`seed ${seed}`);
const shares = share(runs, Object.fromEntries(wanted.map((name) => [name, WEIGHTS[name] ?? 1])));
const totals = { runs: 0, failures: 0 };
const queue = [...shares];
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, worker));
console.log(`${totals.runs} runs, ${totals.failures} failures`);
process.exitCode = totals.failures > 0 ? 1 : 0;

async function worker(): Promise<void> {
  const thread = new FuzzThread();
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [target, count] = next;
    const result = await thread.fuzz({ target, runs: count, seed, path: values.path });
    totals.runs += result.runs;
    const refused = Math.round((100 * result.refused) / Math.max(1, result.runs));
    console.log(`${target}: ${result.runs} runs, ${refused}% refused, slowest ${result.slowestMs.toFixed(1)} ms`);
    if (result.slowestMs > 20) console.log(`  ${result.slowest.slice(0, 200)}`);
    if (result.failure === undefined) continue;
    totals.failures++;
    console.log(
      `FAILED ${target}: ${result.failure}\nagain: npm run fuzz -- --target ${target} --seed ${seed} --runs ${count}`,
    );
  }
  await thread.close();
}
