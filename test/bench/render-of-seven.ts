import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { startRunnerServer } from "../harness/runner-server.ts";
import type { Workspace } from "../harness/workspace.ts";
import { type Figure, interleave, report, timed } from "./figure.ts";

const RUNS = 15;
const NAMES = ["a", "b", "c", "d", "e", "f", "g"];
const XR = "apiVersion: example.org/v1\nkind: XGreeting\nmetadata: {name: greeting}\nspec: {name: Ada}\n";
const GREETING = /greeting: ['"]?\w* Ada/;

/**
 * `./xfn render` of a Composition with seven Go functions, as a whole process. It starts all seven. With `warm` they
 * run in an `xfn-runner` already, and with `running` they are the peer's processes. The peer is `crossplane render`
 * with the same functions already running as processes, if `XFN_BENCH_RENDER_PEER` names this program, and
 * `XFN_BENCH_RENDER_PEER_CORE` Crossplane itself.
 */
export async function renderOfSeven(workspace: Workspace, program: string): Promise<void> {
  // Each image has a digest of its own, so that no two steps share a server.
  for (const name of NAMES)
    await buildGrpcImage(workspace, { name: `bench/${name}`, program, env: { GREETING: name } });
  await workspace.write("xr.yaml", XR);
  await workspace.write("composition.yaml", composition());
  await workspace.write(
    "images.yaml",
    functions(() => ""),
  );
  await workspace.write("processes.yaml", functions(development));
  const socket = `unix:${workspace.path("runner.sock")}`;
  await using _runner = await startRunnerServer(workspace, ["--address", socket]);
  const running = await Promise.all(NAMES.map(async (_, index) => await start(program, addressOf(index))));
  try {
    const xfn = (functionsFile: string, ...more: string[]): Promise<number> =>
      render(workspace, join(CHECKOUT, "xfn"), ["render", ...files(functionsFile), ...more]);
    await compare(workspace, "functions/render-of-seven", () => xfn("images.yaml"));
    await compare(workspace, "functions/render-of-seven-warm", () => xfn("images.yaml", "--runner", socket));
    await compare(workspace, "functions/render-of-seven-running", () => xfn("processes.yaml"));
  } finally {
    for (const child of running) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }
}

async function compare(workspace: Workspace, name: string, ours: () => Promise<number>): Promise<void> {
  const { XFN_BENCH_RENDER_PEER: cli, XFN_BENCH_RENDER_PEER_CORE: core } = process.env;
  if (cli === undefined || core === undefined) {
    const { ours: value } = await interleave(RUNS, ours, ours);
    report({ name, unit: "ms", runs: RUNS, value });
    return;
  }
  const theirs = (): Promise<number> =>
    render(workspace, cli, ["render", ...files("processes.yaml"), "--crossplane-binary", core]);
  const { ours: value, peer, ratio } = await interleave(RUNS, ours, theirs);
  const figure: Figure = { name, unit: "ms", runs: RUNS, value, ratio, goal: 0.5 };
  report({ ...figure, peer: { name: "crossplane render, functions already running", value: peer } });
}

function files(functionsFile: string): string[] {
  return ["xr.yaml", "composition.yaml", functionsFile];
}

function render(workspace: Workspace, program: string, args: readonly string[]): Promise<number> {
  const env = { ...process.env, XDG_CACHE_HOME: join(workspace.root, "cache") };
  return timed(() => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: workspace.path(), env, encoding: "utf8" });
    if (status !== 0 || !GREETING.test(stdout)) throw new Error(`${program} exited with ${status}: ${stderr}`);
  });
}

function composition(): string {
  const steps = NAMES.map((name) => `  - {step: ${name}, functionRef: {name: function-${name}}}\n`);
  return `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: greetings}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XGreeting}
  mode: Pipeline
  pipeline:
${steps.join("")}`;
}

function functions(annotations: (index: number) => string): string {
  const documents = NAMES.map(
    (name, index) => `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: function-${name}${annotations(index)}}
spec: {package: bench/${name}}
`,
  );
  return documents.join("---\n");
}

function development(index: number): string {
  const [host, port] = addressOf(index);
  const target = `render.crossplane.io/runtime-development-target: "${host}:${port}"`;
  return `, annotations: {render.crossplane.io/runtime: Development, ${target}}`;
}

/** Seven addresses of loopback with the usual port. */
function addressOf(index: number): [host: string, port: number] {
  return [`127.7.7.${index + 1}`, 9443];
}

/** Starts a function as a process, and waits until it listens. */
async function start(program: string, [host, port]: [string, number]): Promise<ChildProcess> {
  const child = spawn(program, ["--insecure", "--address", `${host}:${port}`], { stdio: "ignore" });
  while (child.exitCode === null) {
    const socket = connect(port, host);
    const opened = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (opened) return child;
    await sleep(10);
  }
  throw new Error(`the function ended with code ${child.exitCode}`);
}
