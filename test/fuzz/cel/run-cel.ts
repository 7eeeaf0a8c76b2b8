// npm run fuzz -- cel [--rules N] [--seed S]: compares rules and schemas with the API server of `xfn dev cluster`.
import { parseArgs } from "node:util";
import { printJson } from "@xfn/functionio/document";
import { startApiServer } from "../../harness/api-server.ts";
import { cases } from "./cases.ts";
import { batchesOf, Comparison } from "./compare.ts";
import { Server } from "./server.ts";

const { values } = parseArgs({
  options: {
    rules: { type: "string", default: "10000" },
    seed: { type: "string" },
    show: { type: "string", default: "20" },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const count = Number(values.rules);
console.log(`seed ${seed}`);
await using api = await startApiServer();
const server = new Server(api);
const comparison = new Comparison(server);
let done = 0;
for (const batch of batchesOf(cases(seed, count), 80)) {
  await comparison.run(batch);
  done += batch.length;
  console.log(`${done} rules, ${comparison.disagreements.length} disagreements`);
}
server.close();
for (const { kind, rule, schema, value, ours, theirs } of comparison.disagreements.slice(0, Number(values.show))) {
  const { properties: _, ...shown } = schema;
  console.log(`${kind}: ${rule}\n  ours: ${ours}\n  theirs: ${theirs}`);
  console.log(`  schema: ${printJson(shown)}\n  value: ${value === undefined ? "" : printJson(value)}`);
}
console.log(JSON.stringify(comparison.counts));
process.exitCode = comparison.disagreements.length > 0 ? 1 : 0;
