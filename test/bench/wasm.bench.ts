import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Runner } from "@xfn/runner";
import { runnerOf } from "../harness/shell-function.ts";
import { echoModule } from "../harness/wasm-modules.ts";
import { Workspace } from "../harness/workspace.ts";
import { median, report, timed } from "./figure.ts";

const runs = Number(process.env["XFN_BENCH_RUNS"] ?? 60);

// Until the next instance waits for its input.
const PAUSE_MS = 60;

const INPUT = Buffer.from(
  JSON.stringify({
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "FunctionIO",
    observed: {
      composite: {
        resource: { apiVersion: "example.org/v1", kind: "XTeam", metadata: { name: "blue" }, spec: { members: 3 } },
      },
    },
  }),
);

/** Calls of WebAssembly modules: a hand-written one that copies its input, and the example, which Go compiles. */
export async function run(): Promise<void> {
  await using workspace = await Workspace.create();
  const echo = join(workspace.root, "echo.wasm");
  writeFileSync(echo, echoModule());
  const images = { echo: "bench/echo", go: "bench/go" };
  await build(workspace, echo, images.echo);
  await build(workspace, join(import.meta.dirname, "../../examples/wasm/functions/team"), images.go);
  for (const [name, image] of Object.entries(images)) {
    const first: number[] = [];
    for (let round = 0; round < 5; round++) {
      await using fresh = await runnerOf(workspace);
      first.push(await timed(() => fresh.run(image, INPUT)));
    }
    report({ name: `wasm/first-${name}`, unit: "ms", runs: first.length, value: median(first) });
    await using runner = await runnerOf(workspace);
    await calls(runner, name, image);
  }
}

async function calls(runner: Runner, name: string, image: string): Promise<void> {
  const call = async (): Promise<number> => await timed(() => runner.run(image, INPUT));
  for (let count = 0; count < runs; count++) await call();
  const waiting: number[] = [];
  for (let count = 0; count < runs; count++) {
    await sleep(PAUSE_MS);
    waiting.push(await call());
  }
  report({ name: `wasm/warm-${name}`, unit: "ms", runs, value: median(waiting), goal: 2 });
  const following: number[] = [];
  const allMs = await timed(async () => {
    for (let count = 0; count < runs * 5; count++) following.push(await call());
  });
  // No instance waits, but the code is compiled.
  report({ name: `wasm/compiled-${name}`, unit: "ms", runs: runs * 5, value: median(following), goal: 10 });
  const value = (following.length * 1000) / allMs;
  report({ name: `wasm/calls-${name}`, unit: "calls/s", runs: 1, value, goal: 500, atLeast: true });
}

async function build(workspace: Workspace, source: string, name: string): Promise<void> {
  const { code, stderr } = await workspace.xfn(["build", source, "-t", name]);
  if (code !== 0) throw new Error(`cannot build ${source}: ${stderr}`);
}
