import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { compileTemplates, documentOf, parseComposition, type TemplatesSpec } from "@xfn/composition";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import { printYaml, readDocuments } from "@xfn/json/document";
import { render, type StepRecord } from "@xfn/pipeline";
import { buildTrace } from "@xfn/pipeline/trace";
import { interleave, median, report, timed } from "./figure.ts";
import { benchComposite, tenPatchesEach } from "./ten-by-ten.ts";

const runs = 21;

/** Patch-and-transform: 10 resources with 10 patches each, every patch with a map and a fmt transform. */
export async function run(): Promise<void> {
  await composed();
  await linear();
  await hundredComposites();
  await trace();
  await desiredComposite();
  await parse();
  await wholeProcess();
}

/** Composed resources a second of the Go engine, recorded on one core of a similar machine. The goal is 30,000. */
const RECORDED = 6116;
const goal = RECORDED / 30_000;

async function composed(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  const files = [join(directory, "composition.json"), join(directory, "xr.json")] as const;
  writeFileSync(files[0], JSON.stringify(tenPatchesEach()));
  writeFileSync(files[1], JSON.stringify(benchComposite()));
  // Limit both engines to one core, without garbage collection threads.
  const ours = counter(process.execPath, [
    "--single-threaded-gc",
    join(import.meta.dirname, "compose-child.ts"),
    ...files,
  ]);
  // Another engine's program with the interface of compose-child.ts: for each count on stdin, the nanoseconds.
  const program = process.env["XFN_BENCH_COMPOSE_PEER"];
  const peer = program === undefined ? undefined : counter(program, [...files]);
  try {
    // Long enough for V8 to optimise the hot code.
    await ours.render(500);
    const perResource = async (one: Counter): Promise<number> => (await one.render(100)) / 1000 / (100 * 10);
    const name = "compose/10x10";
    if (peer === undefined) {
      const times: number[] = [];
      for (let at = 0; at < runs; at++) times.push(await perResource(ours));
      const value = median(times);
      const recorded = 1e6 / RECORDED;
      const peer = { name: "crossplane v1.13.2, recorded", value: recorded };
      report({ name, unit: "us", runs, value, peer, ratio: value / recorded, goal });
      return;
    }
    const result = await interleave(
      runs,
      () => perResource(ours),
      () => perResource(peer),
    );
    const { ours: value, peer: theirs, ratio } = result;
    report({ name, unit: "us", runs, value, peer: { name: program ?? "", value: theirs }, ratio, goal });
  } finally {
    ours.child.kill();
    peer?.child.kill();
    rmSync(directory, { recursive: true });
  }
}

interface Counter {
  child: ChildProcess;
  /** Renders so often. Returns the nanoseconds that the program measured. */
  render(count: number): Promise<number>;
}

function counter(command: string, args: string[]): Counter {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    render: async (count) => {
      child.stdin.write(`${count}\n`);
      const line = await lines.next();
      if (line.done === true) throw new Error(`${command} ended`);
      return Number(line.value);
    },
  };
}

/** Ten times the resources must take ten times as long: the ratio is of the time per resource. */
async function linear(): Promise<void> {
  const composite = benchComposite() as unknown as KubernetesObject;
  const of = (count: number): (() => Promise<number>) => {
    const compiled = compileTemplates(specOf(count));
    const times = 1000 / count;
    return async () =>
      (await timed(() => {
        for (let at = 0; at < times; at++) compiled.render({ composite, observed: new Map() });
      })) / times;
  };
  const [thousand, hundred] = [of(1000), of(100)];
  for (let at = 0; at < 20; at++) await thousand();
  const result = await interleave(runs, thousand, async () => (await hundred()) * 10);
  report({
    name: "compose/1000-resources",
    unit: "ms",
    runs,
    value: result.ours,
    peer: { name: "ten times 100 resources", value: result.peer },
    ratio: result.ratio,
    // Quadratic cost would give ten. The excess over one is the collector, which copies a result that lives longer.
    goal: 2,
  });
}

function specOf(count: number): TemplatesSpec {
  const { resources, patchSets } = parseComposition(documentOf(tenPatchesEach(count))).spec;
  return { resources, patchSets };
}

const noRunner = { run: () => Promise.reject(new Error("there is no function")) };

/** A whole render, from the XR to the composed resources. */
async function hundredComposites(): Promise<void> {
  const composition = parseComposition(documentOf(tenPatchesEach()));
  const composites = Array.from({ length: 100 }, (_, at) => benchComposite(`bench-${at}`));
  const all = (): Promise<number> =>
    timed(async () => {
      for (const composite of composites) await render({ composite, composition, runner: noRunner });
    });
  for (let at = 0; at < 5; at++) await all();
  const times: number[] = [];
  for (let at = 0; at < runs; at++) times.push(await all());
  report({ name: "compose/100-composites", unit: "ms", runs, value: median(times) });
}

/** A render with records for a trace, against one without. */
async function trace(): Promise<void> {
  const composition = parseComposition(documentOf(tenPatchesEach()));
  const composite = benchComposite();
  const times = 20;
  const plain = (): Promise<number> =>
    timed(async () => {
      for (let at = 0; at < times; at++) await render({ composite, composition, runner: noRunner });
    });
  const recorded =
    (build: boolean): (() => Promise<number>) =>
    () =>
      timed(async () => {
        for (let at = 0; at < times; at++) {
          const records: StepRecord[] = [];
          await render({ composite, composition, runner: noRunner, onRecord: (record) => records.push(record) });
          if (build) buildTrace({ records, composite: composite as unknown as KubernetesObject, composition });
        }
      });
  for (const build of [false, true]) {
    for (let at = 0; at < 10; at++) await recorded(build)();
    const result = await interleave(runs, recorded(build), plain);
    report({
      name: build ? "compose/traced" : "compose/recorded",
      unit: "ms",
      runs,
      value: result.ours / times,
      peer: { name: "the same without", value: result.peer / times },
      ratio: result.ratio,
    });
  }
}

/**
 * Templates, then a function that returns the XR in desired state, against one that returns none. The function takes no
 * time and runs in this process, so that nothing hides the cost. A call in a container takes twenty times as long.
 */
async function desiredComposite(): Promise<void> {
  const { spec, ...rest } = tenPatchesEach();
  const functions = [{ name: "fn", type: "Container", container: { image: "fn" } }];
  const composition = parseComposition(documentOf({ ...rest, spec: { ...(spec as JsonObject), functions } }));
  const composite = benchComposite();
  let answer: Uint8Array | undefined;
  let input = "";
  const run = (_image: string, bytes: Uint8Array): Promise<Uint8Array> => {
    if (input === "") input = Buffer.from(bytes).toString("utf8");
    return Promise.resolve(answer ?? bytes);
  };
  await render({ composite, composition, runner: { run } });
  const io = JSON.parse(input) as { desired: JsonObject };
  if (io.desired["composite"] === undefined) throw new Error("the function got no desired XR");
  const { composite: _, ...others } = io.desired;
  const answers = [io, { ...io, desired: others }].map((one) => Buffer.from(JSON.stringify(one)));
  const times = 50;
  const [returned, absent] = answers.map((one) => async () => {
    answer = one;
    return await timed(async () => {
      for (let at = 0; at < times; at++) await render({ composite, composition, runner: { run } });
    });
  }) as [() => Promise<number>, () => Promise<number>];
  for (let at = 0; at < 10; at++) await returned();
  const result = await interleave(runs, returned, absent);
  report({
    name: "compose/desired-composite",
    unit: "ms",
    runs,
    value: result.ours / times,
    peer: { name: "without the XR in the answer", value: result.peer / times },
    ratio: result.ratio,
    goal: 1.03,
  });
}

/** Reading and validating a Composition of 1 MB in YAML, against reading it alone. */
async function parse(): Promise<void> {
  const one = printYaml(tenPatchesEach(10)).length / 10;
  const text = printYaml(tenPatchesEach(Math.round(1e6 / one)));
  const resolve = createRequire(createRequire(import.meta.url).resolve("@xfn/json"));
  const yaml = resolve("js-yaml") as { load: (text: string) => unknown };
  const result = await interleave(
    runs,
    () =>
      timed(() => {
        for (const document of readDocuments(text)) parseComposition(document);
      }),
    () => timed(() => yaml.load(text)),
  );
  report({
    name: "compose/parse-1MB",
    unit: "ms",
    runs,
    value: result.ours,
    peer: { name: "js-yaml", value: result.peer },
    ratio: result.ratio,
  });
}

/** `xfn render` as a user runs it, launcher included, against Node with an empty program. */
async function wholeProcess(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "xfn-bench-"));
  try {
    const [xr, composition] = [join(directory, "xr.yaml"), join(directory, "composition.yaml")];
    writeFileSync(xr, printYaml(benchComposite()));
    writeFileSync(composition, printYaml(tenPatchesEach()));
    const launcher = join(import.meta.dirname, "../../xfn");
    const rendering =
      (...options: string[]): (() => Promise<number>) =>
      () =>
        timed(() => {
          const args = ["render", xr, composition, ...options];
          const { status, stdout, stderr } = spawnSync(launcher, args, { encoding: "utf8" });
          if (status !== 0 || !stdout.includes("size-t3.large-9-8"))
            throw new Error(`exited with ${status}: ${stderr}`);
        });
    const bare = await interleave(runs, rendering(), () => timed(() => spawnSync(process.execPath, ["-e", "0"])));
    report({
      name: "compose/whole-process",
      unit: "ms",
      runs,
      value: bare.ours,
      peer: { name: "node -e 0", value: bare.peer },
      ratio: bare.ratio,
    });
    const traced = await interleave(
      runs,
      rendering("--trace=json", "--trace-file", join(directory, "t.json")),
      rendering(),
    );
    report({
      name: "compose/whole-process-traced",
      unit: "ms",
      runs,
      value: traced.ours,
      peer: { name: "the same without a trace", value: traced.peer },
      ratio: traced.ratio,
      goal: 1.1,
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
