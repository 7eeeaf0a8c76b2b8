import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { documentOf, parseComposition } from "@xfn/composition";
import { render } from "@xfn/pipeline";
import { tuneForServing } from "@xfn/program/v8-tuning";
import { createRunnerClient, createRunnerServer } from "@xfn/runner-grpc";
import { interleave, median, report } from "./figure.ts";
import { cli } from "./hello.ts";
import { storeImages } from "./store-growth.ts";
import { benchComposite, tenPatchesEach } from "./ten-by-ten.ts";

const runs = 7;

// Time per item at the whole size, divided by that at one tenth. Linear work gives one.
const goal = 1.2;

/** How the processor time for an item grows with the number of items. */
export async function run(): Promise<void> {
  await composites();
  await templates();
  await objects();
  await storeImages(growth, spent);
  await queuedCalls();
}

/** Calls that a runner's server queues: all but two of 2,000 wait, and each then takes one turn. */
async function queuedCalls(): Promise<void> {
  // As `xfn-runner serve` does.
  tuneForServing();
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  const address = `unix:${join(directory, "runner.sock")}`;
  const input = Buffer.alloc(1_000, "x");
  const server = createRunnerServer({
    addresses: [address],
    maxConcurrent: 2,
    maxQueued: 2_000,
    run: async (_image, received) => {
      await setImmediate();
      return received;
    },
  });
  await server.start();
  const client = createRunnerClient({ endpoint: address });
  try {
    const all = (count: number): Promise<number> =>
      spent(async () => {
        const calls = Array.from({ length: count }, () => client.run("bench", input, { timeoutMs: 600_000 }));
        for (const output of await Promise.all(calls))
          if (output.length !== input.length) throw new Error("wrong output");
      });
    await all(2_000);
    await growth("growth/queue-2000-calls", 2_000, all);
  } finally {
    client.close();
    await server.stop(0);
    rmSync(directory, { recursive: true });
  }
}

/** Milliseconds of this process's processor time. */
async function spent(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const noRunner = { run: () => Promise.reject(new Error("there is no function")) };

const USAGE = `process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write("usage " + (user + system));
});`;
const PRINT_USAGE = `--import=data:text/javascript,${encodeURIComponent(USAGE)}`;

/** Renders of 2,000 XRs by one process: of 10 resources with 10 patches each. */
async function composites(): Promise<void> {
  const composition = parseComposition(documentOf(tenPatchesEach()));
  const xrs = Array.from({ length: 2000 }, (_, at) => benchComposite(`bench-${at}`));
  const all = (count: number): Promise<number> =>
    spent(async () => {
      const results: unknown[] = [];
      // Keeps the results, as a caller that prints them would.
      for (const composite of xrs.slice(0, count)) {
        results.push(await render({ composite, composition, runner: noRunner }));
      }
      if (results.length !== count) throw new Error(`${results.length} results`);
    });
  await all(2000);
  await growth("growth/render-2000-composites", 2000, all);
}

/** Renders of one XR by a Composition of 256 resources with 50 patches each. */
async function templates(): Promise<void> {
  const composite = benchComposite();
  const sizes = [256, 25].map((count) => [count, parseComposition(documentOf(tenPatchesEach(count, 50)))] as const);
  const compositions = new Map(sizes);
  // As many resources at both sizes, so that the compiler of V8 treats both alike.
  const all = async (count: number): Promise<number> => {
    const times = Math.ceil(5000 / count);
    const ms = await spent(async () => {
      const composition = compositions.get(count);
      if (composition === undefined) throw new Error(`no Composition of ${count} resources`);
      for (let at = 0; at < times; at++) await render({ composite, composition, runner: noRunner });
    });
    return ms / times;
  };
  for (const count of [256, 25, 256, 25]) await all(count);
  await growth("growth/render-256x50-patches", 256, all);
}

/** `xfn validate` of 10,000 objects in one file. The start of the program does not count. */
async function objects(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  try {
    const definition = join(directory, "definition.yaml");
    writeFileSync(definition, DEFINITION);
    const files = new Map([1, 1000, 10_000].map((count) => [count, join(directory, `${count}.yaml`)]));
    for (const [count, file] of files) {
      writeFileSync(file, Array.from({ length: count }, (_, at) => object(at)).join("---\n"));
    }
    const validate = async (count: number): Promise<number> => {
      const args = [cli, "validate", definition, files.get(count) ?? "", "--skip-success-results"];
      const env = { ...process.env, NODE_OPTIONS: PRINT_USAGE };
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
      if (status !== 0 || !stdout.includes(`${count} success`)) throw new Error(`exited with ${status}: ${stderr}`);
      return Number(/usage (\d+)/.exec(stderr)?.[1]) / 1000;
    };
    const starts: number[] = [];
    for (let at = 0; at < runs; at++) starts.push(await validate(1));
    const start = median(starts);
    await growth("growth/validate-10000-objects", 10_000, async (count) => (await validate(count)) - start);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function growth(name: string, count: number, work: (count: number) => Promise<number>): Promise<void> {
  const tenth = Math.floor(count / 10);
  const result = await interleave(
    runs,
    () => work(count),
    async () => (await work(tenth)) * (count / tenth),
  );
  const peer = { name: "ten times a tenth", value: result.peer };
  report({ name, unit: "ms", runs, value: result.ours, peer, ratio: result.ratio, goal });
}

function object(at: number): string {
  return `apiVersion: bench.example.org/v1
kind: XBench
metadata: {name: bench-${at}}
spec:
  region: eu
  size: ${at % 100}
  tags: {team: storage, index: "${at}"}
`;
}

const DEFINITION = `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xbenches.bench.example.org}
spec:
  group: bench.example.org
  names: {kind: XBench, plural: xbenches}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [region]
            properties:
              region: {type: string, enum: [eu, us]}
              size: {type: integer, minimum: 0, x-kubernetes-validations: [{rule: "self < 100"}]}
              tags: {type: object, additionalProperties: {type: string}}
`;
