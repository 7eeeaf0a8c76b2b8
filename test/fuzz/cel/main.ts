// npm run fuzz -- cel [--rules N] [--seed S]: compares CEL rules and schemas with a real API server.
import { parseArgs } from "node:util";
import { compareCel, describeDisagreement } from "./run-cel.ts";

// If there are many disagreements, the first ones show the kinds.
const MAX_SHOWN = 30;

const { values } = parseArgs({
  allowPositionals: true,
  options: { rules: { type: "string", default: "10000" }, seed: { type: "string" } },
});
const rules = Number(values.rules);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
if (!Number.isSafeInteger(rules) || rules < 1 || !Number.isSafeInteger(seed)) {
  console.error("fuzz: --rules and --seed are whole numbers");
  process.exit(2);
}
console.log(`seed ${seed}`);
const { counts, unexplained, obsolete } = await compareCel({
  rules,
  seed,
  onBatch: (done) => {
    if (done % 800 === 0) console.log(`${done} rules`);
  },
});
for (const disagreement of unexplained.slice(0, MAX_SHOWN)) console.log(describeDisagreement(disagreement));
for (const reason of obsolete) console.log(`no longer different, remove it from differences.ts: ${reason}`);
const { objects, refused, invalid } = counts;
console.log(`${counts.rules} rules, ${refused} refused; ${objects} values, ${invalid} invalid`);
console.log(`${unexplained.length} disagreements`);
if (unexplained.length + obsolete.length > 0) {
  console.log(`again: npm run fuzz -- cel --seed ${seed} --rules ${rules}`);
  process.exitCode = 1;
}
