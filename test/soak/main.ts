// npm run soak [-- --calls N] [--concurrency N] [--warm-pool POLICY] [--served] [--memory SIZE]
//
// Makes calls of every kind to a real server. A fifth of them fail. --served: only calls of functions that are servers.
// --memory 1GiB: bounds the memory of the server and its functions together, by a cgroup.
//
// The last line but one is JSON: how long good calls took during faulty calls and, at the start, without them.
import { parseArgs } from "node:util";
import { parseBytes } from "@xfn/units";
import { Workspace } from "../harness/workspace.ts";
import { summaryOf } from "./latencies.ts";
import { problemsOf, soak } from "./soak.ts";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "100000" },
    concurrency: { type: "string", default: "4" },
    "warm-pool": { type: "string" },
    served: { type: "boolean", default: false },
    memory: { type: "string" },
  },
});
const [calls, concurrency] = [Number(values.calls), Number(values.concurrency)];
if (!Number.isSafeInteger(calls) || calls < 1 || !Number.isSafeInteger(concurrency) || concurrency < 1) {
  console.error("soak: --calls and --concurrency are whole numbers, of at least 1");
  process.exit(2);
}

// Kubernetes writes 1Gi.
const memoryBytes = values.memory === undefined ? undefined : parseBytes(values.memory.replace(/iB$/, "i"));
if (values.memory !== undefined && memoryBytes === undefined) {
  console.error(`soak: --memory ${values.memory}: expected a size, such as 1GiB`);
  process.exit(2);
}

await using workspace = await Workspace.create();
const report = await soak(workspace, {
  calls,
  concurrency,
  warmPool: values["warm-pool"],
  servedOnly: values.served,
  memoryBytes,
  onProgress: (done, usage) => console.log(`${done} calls: ${JSON.stringify(usage)}`),
});
console.log(`${report.calls} calls, ${report.faulty} of them faulty, in ${report.seconds.toFixed(0)} s`);
const problems = problemsOf(report);
for (const problem of problems) console.log(problem);
console.log(JSON.stringify({ memory: values.memory ?? "unbounded", ...summaryOf(report.latencies) }));
console.log(`${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;
