// npm run soak [-- --calls N] [--concurrency N] [--warm-pool POLICY]
//
// Makes calls of every kind to a real server. A fifth of them fail.
import { parseArgs } from "node:util";
import { Workspace } from "../harness/workspace.ts";
import { problemsOf, soak } from "./soak.ts";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "100000" },
    concurrency: { type: "string", default: "4" },
    "warm-pool": { type: "string" },
  },
});
const [calls, concurrency] = [Number(values.calls), Number(values.concurrency)];
if (!Number.isSafeInteger(calls) || calls < 1 || !Number.isSafeInteger(concurrency) || concurrency < 1) {
  console.error("soak: --calls and --concurrency are whole numbers, of at least 1");
  process.exit(2);
}

await using workspace = await Workspace.create();
const report = await soak(workspace, {
  calls,
  concurrency,
  warmPool: values["warm-pool"],
  onProgress: (done, usage) => console.log(`${done} calls: ${JSON.stringify(usage)}`),
});
console.log(`${report.calls} calls, ${report.faulty} of them faulty, in ${report.seconds.toFixed(0)} s`);
const problems = problemsOf(report);
for (const problem of problems) console.log(problem);
console.log(`${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;
